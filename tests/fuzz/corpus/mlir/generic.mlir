"builtin.module"() <{sym_name = "m"}> ({
  "func.func"() <{function_type = (tensor<1x8x8x3xf32>) -> tensor<1x8x8x4xsi8>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<1x8x8x3xf32> loc("in")):
    %w = "hbir.constant"() <{values = dense<[[[[1, -2, 3]]], [[[4, 5, 6]]], [[[7, 8, 9]]], [[[-128, 127, 0]]]]> : tensor<4x1x1x3xsi8>}> : () -> tensor<4x1x1x3xsi8>
    %q = "hbir.constant"() <{values = dense<[[0, 1, 0, 0, 32308, 16]]> : tensor<1x6xsi64>}> : () -> tensor<1x6xsi64>
    %0 = "hbtl.call"(%arg0) <{parameters = [[1.0e-01], [0], false, 0, false], signature = "quant::quantize(Tensor, double[], int64_t[], bool, int64_t, bool) -> (Tensor)"}> : (tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xsi8> loc(callsite("a" at "b.py":1:2))
    %1 = "b30.conv2d"(%0, %w, %q) <{dilation = [1, 1], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, pad = [0, 0, 0, 0], relu = false, stride = [1, 1]}> ({
    }) {group = 1 : i64} : (tensor<1x8x8x3xsi8>, tensor<4x1x1x3xsi8>, tensor<1x6xsi64>) -> tensor<1x8x8x4xsi8> loc(#loc)
    "cf.br"(%1)[^bb1] : (tensor<1x8x8x4xsi8>) -> ()
  ^bb1(%2: tensor<1x8x8x4xsi8>):
    "func.return"(%2) : (tensor<1x8x8x4xsi8>) -> ()
  }) : () -> ()
}) : () -> ()
#loc = loc("conv")
