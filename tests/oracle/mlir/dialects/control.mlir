// func, arith, math, cf, scf, index, ub
func.func @sum(%a: $I, %b: $I) -> $I attributes {x.note = "$N"} {
  %c = arith.constant $N : $I
  %0 = arith.addi %a, %b overflow<nsw, nuw> : $I
  %1 = arith.muli %0, %c : $I
  %2 = arith.cmpi slt, %1, %a : $I
  %3 = arith.select %2, %0, %1 : $I
  return %3 : $I
}
// -----
func.func private @callee($F, tensor<$Nx$Mx$F> {x.y = $N : i32}) -> ($F, i1)
func.func @caller(%a: $F, %t: tensor<$Nx$Mx$F>) -> $F {
  %0:2 = call @callee(%a, %t) : ($F, tensor<$Nx$Mx$F>) -> ($F, i1)
  cf.cond_br %0#1, ^one(%0#0 : $F), ^two
^one(%x: $F):
  return %x : $F
^two:
  %f = constant @callee : ($F, tensor<$Nx$Mx$F>) -> ($F, i1)
  %1:2 = call_indirect %f(%a, %t) : ($F, tensor<$Nx$Mx$F>) -> ($F, i1)
  return %1#0 : $F
}
// -----
func.func @floats(%a: $F, %b: $F) -> (i1, $F) {
  %c = arith.constant 2.5 : $F
  %0 = arith.addf %a, %b fastmath<nnan,contract> : $F
  %1 = arith.mulf %0, %c fastmath<fast> : $F
  %2 = math.exp %1 : $F
  %3 = math.fma %0, %1, %2 : $F
  %4 = math.powf %3, %c : $F
  %5 = arith.cmpf oge, %4, %b : $F
  %6 = arith.negf %4 : $F
  return %5, %6 : i1, $F
}
// -----
func.func @switch(%f: i32, %a: $I) -> $I {
  cf.switch %f : i32, [
    default: ^d(%a : $I),
    $N: ^x(%a : $I),
    -$M: ^y
  ]
^d(%0: $I):
  return %0 : $I
^x(%1: $I):
  cf.br ^d(%1 : $I)
^y:
  %c = arith.cmpi eq, %a, %a : $I
  cf.assert %c, "no \22way\22 $N"
  cf.br ^x(%a : $I)
^z:
  cf.br ^y
}
// -----
func.func @loops(%n: index, %m: memref<?x$Mx$F>) -> $F {
  %z = arith.constant 0.0 : $F
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %z) -> ($F) {
    %p = arith.cmpi ult, %i, %c1 : index
    %q = scf.if %p -> ($F) {
      %v = memref.load %m[%i, %c0] : memref<?x$Mx$F>
      scf.yield %v : $F
    } else {
      scf.yield %s : $F
    }
    %t = arith.addf %s, %q : $F
    scf.yield %t : $F
  }
  return %r : $F
}
// -----
func.func @while(%a: $I) -> $I {
  %one = arith.constant 1 : $I
  %0 = scf.while (%x = %a) : ($I) -> $I {
    %c = arith.cmpi sgt, %x, %one : $I
    scf.condition(%c) %x : $I
  } do {
  ^bb0(%y: $I):
    %1 = arith.subi %y, %one : $I
    scf.yield %1 : $I
  }
  %i = arith.index_cast %0 : $I to index
  %2 = scf.index_switch %i -> $I
  case $N {
    scf.yield %a : $I
  }
  default {
    scf.yield %0 : $I
  }
  return %2 : $I
}
// -----
func.func @parallel(%m: memref<$Nx$Mx$F>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cn = arith.constant $N : index
  %cm = arith.constant $M : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%cn, %cm) step (%c1, %c1) {
    %v = memref.load %m[%i, %j] : memref<$Nx$Mx$F>
    %w = arith.addf %v, %v : $F
    memref.store %w, %m[%i, %j] : memref<$Nx$Mx$F>
    scf.reduce
  }
  return
}
// -----
func.func @index(%a: index, %b: index) -> (index, i1) {
  %0 = index.add %a, %b
  %1 = index.constant $N
  %2 = index.cmp ult(%0, %1)
  %3 = index.casts %0 : index to i32
  %4 = ub.poison : $I
  %5 = index.maxs %1, %b
  return %5, %2 : index, i1
}
// -----
func.func @constants() -> (tensor<$Nx$Mx$F>, vector<${N}xi32>, tensor<2x2xi1>) {
  %0 = arith.constant dense<1.5> : tensor<$Nx$Mx$F>
  %1 = arith.constant dense<$M> : vector<${N}xi32>
  %2 = arith.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  %3 = arith.constant dense<[1.0, 2.0, -0.0, 0x7F800001]> : tensor<4xf32>
  %4 = arith.constant dense<"0x0102030405060708"> : tensor<2xi32>
  %5 = arith.constant sparse<[[0, 0], [1, 1]], [$N, $M]> : tensor<3x4xi64>
  %6 = arith.constant dense<[(1.0, -1.0), (0.0, $N.0)]> : tensor<2xcomplex<f32>>
  return %0, %1, %2 : tensor<$Nx$Mx$F>, vector<${N}xi32>, tensor<2x2xi1>
}
// -----
func.func @wide(%a: vector<$Nx$I>, %b: vector<$Nx$I>) -> vector<${N}xi64> {
  %0 = arith.xori %a, %b : vector<$Nx$I>
  %1 = arith.extui %0 : vector<$Nx$I> to vector<${N}xi64>
  %low, %high = arith.mulsi_extended %1, %1 : vector<${N}xi64>
  %s, %o = arith.addui_extended %low, %high : vector<${N}xi64>, vector<${N}xi1>
  %2 = math.ctpop %s : vector<${N}xi64>
  return %2 : vector<${N}xi64>
}
// -----
module @outer attributes {x.z = [$N, "a", {b}], x.dl = #dlti.dl_spec<#dlti.dl_entry<i32, dense<32> : vector<2xi64>>>} {
  module @inner { func.func @f() { return } }
  func.func @g() -> i32 attributes {llvm.emit_c_interface} {
    %0 = arith.constant $M : i32
    return %0 : i32
  }
  func.func private @h(memref<*x$F>) -> (tensor<*x$F> {x.r}, memref<*x$F, 1>)
}
// -----
func.func @unrealized(%a: tensor<$Nx$F>) -> memref<$Nx$F> {
  %0 = builtin.unrealized_conversion_cast %a : tensor<$Nx$F> to memref<$Nx$F>
  return %0 : memref<$Nx$F>
}
// -----
func.func @complex(%a: complex<f32>, %b: complex<f32>) -> f32 {
  %0 = complex.mul %a, %b : complex<f32>
  %1 = complex.constant [1.0 : f32, $N.0 : f32] : complex<f32>
  %2 = complex.add %0, %1 : complex<f32>
  %3 = complex.abs %2 : complex<f32>
  return %3 : f32
}
