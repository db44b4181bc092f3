// tosa, quant, llvm, gpu, spirv, async, ml_program, shape, sparse_tensor, transform, emitc, omp, pdl, irdl
func.func @tosa(%a: tensor<1x8x8x${M}xf32>, %w: tensor<${N}x3x3x${M}xf32>, %b: tensor<${N}xf32>) -> tensor<1x8x8x${N}xf32> {
  %0 = tosa.conv2d %a, %w, %b {dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x8x8x${M}xf32>, tensor<${N}x3x3x${M}xf32>, tensor<${N}xf32>) -> tensor<1x8x8x${N}xf32>
  %1 = tosa.clamp %0 {max_fp = 6.0 : f32, max_int = 6 : i64, min_fp = 0.0 : f32, min_int = 0 : i64} : (tensor<1x8x8x${N}xf32>) -> tensor<1x8x8x${N}xf32>
  %2 = "tosa.const"() <{value = dense<[0, 3, 1, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>
  %3 = tosa.transpose %1, %2 : (tensor<1x8x8x${N}xf32>, tensor<4xi32>) -> tensor<1x${N}x8x8xf32>
  return %1 : tensor<1x8x8x${N}xf32>
}
// -----
func.func @quantized(%a: tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>>) -> tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>> {
  %0 = tosa.max_pool2d %a {kernel = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>>) -> tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>>
  %1 = "quant.scast"(%0) : (tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>>) -> tensor<1x4x4x4xi8>
  return %0 : tensor<1x4x4x4x!quant.uniform<i8:f32, 0.0$N5:-$M>>
}
// -----
func.func private @types(!quant.uniform<u8<2:250>:f32:1, {2.0e+0$N:120, 0.99:$M}>, !quant.calibrated<f32<-0.998:1.2321>>, !quant.any<i8<-8:7>:f32>) -> tensor<2x!quant.uniform<i16:f32, 2.0>>
// -----
llvm.mlir.global internal constant @msg("hi\0A\00") {addr_space = 0 : i32}
llvm.mlir.global external @g(dense<[1, $N]> : tensor<2xi32>) : !llvm.array<2 x i32>
llvm.func @printf(!llvm.ptr, ...) -> i32
llvm.func @main(%a: i32 {llvm.noundef}, %p: !llvm.ptr {llvm.byval = !llvm.struct<(i32, f32)>}) -> i32 attributes {passthrough = ["noinline", ["alignstack", "$N"]]} {
  %0 = llvm.mlir.addressof @msg : !llvm.ptr
  %1 = llvm.getelementptr %p[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<"pair", (i32, array<$M x f32>)>
  %2 = llvm.load %1 {alignment = 4 : i64} : !llvm.ptr -> f32
  %3 = llvm.call @printf(%0, %a) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
  %4 = llvm.icmp "slt" %a, %3 : i32
  llvm.cond_br %4 weights([1, $N]), ^bb1, ^bb2(%3 : i32)
^bb1:
  %5 = llvm.mlir.constant($M : i32) : i32
  llvm.switch %a : i32, ^bb2(%5 : i32) [ 0: ^bb1, $N: ^bb2(%a : i32) ]
^bb2(%6: i32):
  %7 = llvm.mlir.undef : !llvm.struct<packed (i8, struct<(ptr<1>, i64)>)>
  llvm.inline_asm has_side_effects "nop", "" : () -> ()
  %8 = llvm.add %6, %a overflow<nsw> : i32
  llvm.return %8 : i32
}
// -----
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @kernel(%a: memref<${N}xf32>, %b: f32) workgroup(%w: memref<32xf32, 3>) private(%p: memref<1xf32, 5>) kernel attributes {gpu.known_block_size = array<i32: $N, 1, 1>} {
      %0 = gpu.thread_id x
      %1 = gpu.block_dim y
      gpu.barrier
      %r = gpu.all_reduce add %b uniform {} : (f32) -> f32
      %c = arith.constant 32 : i32
      %s, %v = gpu.shuffle xor %b, %c, %c : f32
      gpu.return
    }
  }
  func.func @launch(%n: index, %m: memref<${N}xf32>, %f: f32) {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
      gpu.terminator
    }
    %t = gpu.wait async
    %u = gpu.launch_func async [%t] @k::@kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%m : memref<${N}xf32>, %f : f32)
    return
  }
}
// -----
spirv.module Logical GLSL450 requires #spirv.vce<v1.0, [Shader], [SPV_KHR_storage_buffer_storage_class]> {
  spirv.GlobalVariable @v bind(0, $K) : !spirv.ptr<!spirv.struct<(!spirv.array<$M x f32, stride=4> [0])>, StorageBuffer>
  spirv.SpecConstant @sc spec_id($N) = $M : i32
  spirv.func @f(%a: f32, %b: vector<4xf32>) -> f32 "None" {
    %0 = spirv.Constant dense<[1.0, 2.0, 3.0, $N.0]> : vector<4xf32>
    %1 = spirv.FAdd %b, %0 : vector<4xf32>
    %2 = spirv.CompositeExtract %1[1 : i32] : vector<4xf32>
    %3 = spirv.FOrdLessThan %2, %a : f32
    spirv.mlir.selection {
      spirv.BranchConditional %3, ^then, ^merge
    ^then:
      spirv.Branch ^merge
    ^merge:
      spirv.mlir.merge
    }
    %5 = spirv.GL.FMax %2, %a : f32
    spirv.ReturnValue %5 : f32
  }
  spirv.EntryPoint "GLCompute" @g
  spirv.func @g() "None" { spirv.Return }
  spirv.ExecutionMode @g "LocalSize", $N, 1, 1
}
// -----
func.func @async(%a: f32) -> !async.value<f32> {
  %t0 = async.execute { async.yield }
  %t, %v = async.execute [%t0] -> !async.value<f32> {
    %0 = arith.addf %a, %a : f32
    async.yield %0 : f32
  }
  %n = arith.constant $N : index
  %g = async.create_group %n : !async.group
  %r = async.add_to_group %t, %g : !async.token
  async.await_all %g
  %1 = async.await %v : !async.value<f32>
  return %v : !async.value<f32>
}
// -----
ml_program.global private mutable @state(dense<[$N, $M]> : tensor<2xi32>) : tensor<2xi32>
ml_program.global private @ext(#ml_program.extern<tensor<${N}xi32>>) : tensor<${N}xi32>
ml_program.func @step(%a: tensor<2xi32>) -> tensor<2xi32> {
  %0 = ml_program.global_load @state : tensor<2xi32>
  ml_program.global_store @state = %a : tensor<2xi32>
  ml_program.return %0 : tensor<2xi32>
}
ml_program.subgraph @s() -> i32 { %0 = arith.constant $N : i32 
 ml_program.output %0 : i32 }
// -----
func.func @shape(%a: tensor<?x${M}xf32>, %s: !shape.shape) -> !shape.witness {
  %0 = shape.shape_of %a : tensor<?x${M}xf32> -> tensor<2xindex>
  %1 = shape.const_shape [$N, $M] : tensor<2xindex>
  %2 = shape.broadcast %0, %1 : tensor<2xindex>, tensor<2xindex> -> tensor<2xindex>
  %3 = shape.cstr_broadcastable %0, %1 : tensor<2xindex>, tensor<2xindex>
  %w = shape.const_witness true
  %4 = shape.assuming %3 -> (index) {
    %i = shape.const_size $K
    %d = arith.constant $N : index
    shape.assuming_yield %d : index
  }
  return %3 : !shape.witness
}
// -----
#csr = #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense, d1 : compressed), posWidth = 32, crdWidth = 32}>
#coo = #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : compressed(nonunique), d1 : singleton)}>
#bsr = #sparse_tensor.encoding<{map = (i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)}>
func.func @sparse(%a: tensor<${N}x${M}xf64, #csr>, %b: tensor<?x?xf64, #coo>, %c: tensor<6x6xi8, #bsr>) -> memref<?xi32> {
  %0 = sparse_tensor.positions %a {level = 1 : index} : tensor<${N}x${M}xf64, #csr> to memref<?xi32>
  %1 = sparse_tensor.values %a : tensor<${N}x${M}xf64, #csr> to memref<?xf64>
  %2 = sparse_tensor.convert %a : tensor<${N}x${M}xf64, #csr> to tensor<${N}x${M}xf64>
  return %0 : memref<?xi32>
}
// -----
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%r: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["linalg.generic"]} in %r : (!transform.any_op) -> !transform.any_op
    %1, %l:2 = transform.structured.tile_using_for %0 tile_sizes [$N, $M] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %p = transform.param.constant $N : i64 -> !transform.param<i64>
    transform.yield
  }
}
// -----
emitc.include <"stdio.h">
func.func @emit(%a: i32) -> i32 {
  %0 = "emitc.constant"() {value = $N : i32} : () -> i32
  %1 = emitc.call_opaque "f"(%a) {args = [0 : index, $M : i32, #emitc.opaque<"x">]} : (i32) -> !emitc.opaque<"my_t<$N>">
  %2 = emitc.add %a, %0 : (i32, i32) -> i32
  return %2 : i32
}
// -----
func.func @openmp(%n: i32, %m: memref<${N}xf32>) {
  omp.parallel num_threads(%n : i32) {
    omp.barrier
    omp.master { omp.terminator }
    omp.terminator
  }
  return
}
// -----
pdl.pattern @p : benefit($N) {
  %t = pdl.type : i32
  %o = pdl.operand : %t
  %a = pdl.attribute = $N : i32
  %0 = pdl.operation "x.y"(%o : !pdl.value) {"k" = %a} -> (%t : !pdl.type)
  pdl.rewrite %0 { pdl.replace %0 with (%o : !pdl.value) }
}
// -----
irdl.dialect @mine {
  irdl.type @t { %0 = irdl.is i32
    irdl.parameters(%0) }
  irdl.operation @op { %0 = irdl.any
    irdl.operands(%0, variadic %0) }
}
// -----
func.func @nv(%a: vector<2x2xf16>, %c: vector<1x2xf16>) -> i32 {
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  %1 = rocdl.workitem.id.x : i32
  %2 = llvm.intr.umin(%0, %1) : (i32, i32) -> i32
  %3 = nvgpu.mma.sync (%a, %c, %a) {mmaShape = [16, 8, 8]} : (vector<2x2xf16>, vector<1x2xf16>, vector<2x2xf16>) -> vector<2x2xf16>
  return %2 : i32
}
// -----
func.func @poly() {
  %0 = polynomial.constant int<1 + x**$N> : !polynomial.polynomial<ring=#polynomial.ring<coefficientType=i32>>
  return
}
// -----
mesh.mesh @m(shape = 2x$N)
func.func @shard(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = mesh.shard %a to <@m, [[0]]> : tensor<4x8xf32>
  %1 = mesh.all_reduce %0 on @m mesh_axes = [0] reduction = <max> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
// -----
#di_file = #llvm.di_file<"a.c" in "dir">
#cu = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #di_file, isOptimized = true, emissionKind = Full>
#sp = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #cu, scope = #di_file, name = "f$N", file = #di_file, line = $N, scopeLine = 1, subprogramFlags = "Definition">
llvm.func @dbg(%a: i32) -> i32 {
  llvm.return %a : i32 loc("b.c":$N:3)
} loc(fused<#sp>["b.c":$M:1])
