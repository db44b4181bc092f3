// memref, tensor, vector, affine, bufferization, linalg
func.func @layouts(%a: memref<$Nx${M}xf32, strided<[$M, 1], offset: ?>>, %b: memref<$Nx${M}xf32, affine_map<(d0, d1) -> (d1, d0)>>, %c: memref<?x?xf32, 3>) {
  %0 = memref.alloc() {alignment = 64 : i64} : memref<$Nx${M}xf32>
  %c0 = arith.constant 0 : index
  %d = memref.dim %c, %c0 : memref<?x?xf32, 3>
  %1 = memref.alloca(%d)[] : memref<?x$Mxi8>
  %2 = memref.subview %0[0, 0] [1, $M] [1, 1] : memref<$Nx${M}xf32> to memref<1x${M}xf32, strided<[$M, 1]>>
  %3 = memref.reinterpret_cast %0 to offset: [0], sizes: [$N], strides: [$M] : memref<$Nx${M}xf32> to memref<$Nxf32, strided<[$M]>>
  %4 = memref.cast %0 : memref<$Nx${M}xf32> to memref<*xf32>
  memref.dealloc %0 : memref<$Nx${M}xf32>
  return
}
// -----
memref.global "private" constant @table : memref<2x2xf32> = dense<[[1.0, 2.0], [-3.5, 0x7FC00000]]>
memref.global @other : memref<${N}xi8> = uninitialized
func.func @use(%i: index) -> f32 {
  %0 = memref.get_global @table : memref<2x2xf32>
  %1 = memref.load %0[%i, %i] : memref<2x2xf32>
  %2 = memref.expand_shape %0 [[0, 1], [2]] output_shape [1, 2, 2] : memref<2x2xf32> into memref<1x2x2xf32>
  %3 = memref.collapse_shape %0 [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  return %1 : f32
}
// -----
func.func @tensors(%t: tensor<?x${M}x$F>, %i: index) -> tensor<1x${M}x$F> {
  %0 = tensor.extract_slice %t[%i, 0] [1, $M] [1, 1] : tensor<?x${M}x$F> to tensor<1x${M}x$F>
  %1 = tensor.extract %t[%i, %i] : tensor<?x${M}x$F>
  %2 = tensor.from_elements %1, %1, %1 : tensor<3x$F>
  %3 = tensor.insert %1 into %2[%i] : tensor<3x$F>
  %4 = tensor.generate %i {
  ^bb0(%a: index):
    tensor.yield %1 : $F
  } : tensor<?x$F>
  %5 = tensor.pad %0 low[0, %i] high[%i, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %1 : $F
  } : tensor<1x${M}x$F> to tensor<?x?x$F>
  %6 = tensor.empty(%i) : tensor<?x$Nx$F>
  %7 = tensor.cast %6 : tensor<?x$Nx$F> to tensor<*x$F>
  %8 = tensor.collapse_shape %0 [[0, 1]] : tensor<1x${M}x$F> into tensor<${M}x$F>
  %9 = tensor.splat %1 : tensor<${N}x$F>
  return %0 : tensor<1x${M}x$F>
}
// -----
func.func @vectors(%a: vector<4x$F>, %b: vector<4x$F>, %m: memref<?x$F>, %i: index, %s: vector<[4]xi32>) -> $F {
  %0 = vector.shuffle %a, %b [0, 5, 2, 7] : vector<4x$F>, vector<4x$F>
  %1 = vector.extract %0[1] : $F from vector<4x$F>
  %2 = vector.broadcast %1 : $F to vector<${N}x4x$F>
  %3 = vector.reduction <add>, %0 : vector<4x$F> into $F
  %z = arith.constant 0.0 : $F
  %4 = vector.transfer_read %m[%i], %z {in_bounds = [true]} : memref<?x$F>, vector<4x$F>
  vector.transfer_write %4, %m[%i] : vector<4x$F>, memref<?x$F>
  %5 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %a, %b, %3 : vector<4x$F>, vector<4x$F> into $F
  %6 = vector.insert %1, %a[$K] : $F into vector<4x$F>
  %7 = vector.create_mask %i : vector<4xi1>
  %8 = vector.mask %7 { vector.reduction <add>, %6 : vector<4x$F> into $F } : vector<4xi1> -> $F
  %9 = vector.shape_cast %2 : vector<${N}x4x$F> to vector<4x${N}x$F>
  vector.print %5 : $F
  return %8 : $F
}
// -----
#map = affine_map<(d0)[s0] -> (d0 * $N + s0)>
#set = affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 - $N == 0)>
func.func @affine(%m: memref<${N}x${M}xf32>, %n: index) {
  affine.for %i = 0 to $N {
    affine.for %j = max affine_map<(d0)[s0] -> (d0, s0)>(%i)[%n] to $M step 2 {
      %0 = affine.load %m[%i, %j + 1] : memref<${N}x${M}xf32>
      affine.if #set(%i, %j)[%n] {
        affine.store %0, %m[%i, %j mod 2] : memref<${N}x${M}xf32>
      } else {
        %1 = affine.apply #map(%i)[%n]
        %2 = affine.min affine_map<(d0) -> (d0 floordiv 2, d0 ceildiv 3, $M)>(%1)
      }
    }
  }
  affine.parallel (%k) = (0) to ($M) { %v = affine.vector_load %m[0, %k] : memref<${N}x${M}xf32>, vector<4xf32> }
  return
}
// -----
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
func.func @generic(%a: tensor<${N}x${N}xf32>, %b: tensor<${N}x${N}xf32>) -> tensor<${N}x${N}xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #t], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<${N}x${N}xf32>) outs(%b : tensor<${N}x${N}xf32>) attrs = {x.y = $M : i64} {
  ^bb0(%x: f32, %y: f32):
    %1 = arith.mulf %x, %y : f32
    %i = linalg.index 0 : index
    linalg.yield %1 : f32
  } -> tensor<${N}x${N}xf32>
  %2 = linalg.matmul ins(%a, %0 : tensor<${N}x${N}xf32>, tensor<${N}x${N}xf32>) outs(%b : tensor<${N}x${N}xf32>) -> tensor<${N}x${N}xf32>
  return %2 : tensor<${N}x${N}xf32>
}
// -----
func.func @named(%x: tensor<1x8x8x$Mxf32>, %w: tensor<3x3x${M}x${N}xf32>, %o: tensor<1x6x6x${N}xf32>) -> tensor<1x6x6x${N}xf32> {
  %0 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<1x8x8x$Mxf32>, tensor<3x3x${M}x${N}xf32>) outs(%o : tensor<1x6x6x${N}xf32>) -> tensor<1x6x6x${N}xf32>
  %c = arith.constant 1.0e-3 : f32
  %1 = linalg.fill ins(%c : f32) outs(%0 : tensor<1x6x6x${N}xf32>) -> tensor<1x6x6x${N}xf32>
  %2 = linalg.map { arith.addf } ins(%0, %1 : tensor<1x6x6x${N}xf32>, tensor<1x6x6x${N}xf32>) outs(%o : tensor<1x6x6x${N}xf32>)
  return %2 : tensor<1x6x6x${N}xf32>
}
// -----
func.func @buffers(%t: tensor<${N}xf32>) -> tensor<${N}xf32> {
  %0 = bufferization.to_memref %t : memref<${N}xf32, strided<[?], offset: ?>>
  %1 = bufferization.alloc_tensor() : tensor<${N}xf32>
  %2 = bufferization.to_tensor %0 restrict writable : memref<${N}xf32, strided<[?], offset: ?>>
  return %2 : tensor<${N}xf32>
}
// -----
func.func @reduce(%t: tensor<${N}x${M}xf32>, %o: tensor<${N}xf32>) -> tensor<${N}xf32> {
  %0 = linalg.reduce ins(%t : tensor<${N}x${M}xf32>) outs(%o : tensor<${N}xf32>) dimensions = [1]
    (%in: f32, %out: f32) { %1 = arith.maximumf %in, %out : f32
      linalg.yield %1 : f32 }
  %2 = linalg.softmax dimension(1) ins(%t : tensor<${N}x${M}xf32>) outs(%t : tensor<${N}x${M}xf32>) -> tensor<${N}x${M}xf32>
  return %0 : tensor<${N}xf32>
}
// -----
func.func @atomic(%m: memref<${N}xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
  %0 = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<${N}xi32, #gpu.address_space<workgroup>>) -> i32
  %1 = memref.generic_atomic_rmw %m[%i] : memref<${N}xi32, #gpu.address_space<workgroup>> {
  ^bb0(%c: i32):
    %n = arith.addi %c, %v : i32
    memref.atomic_yield %n : i32
  }
  return %1 : i32
}
