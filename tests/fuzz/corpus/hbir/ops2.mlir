module attributes {hbdk.target = "B30G"} {
  func.func @main(%x8: tensor<1x4x4x4xsi8> {hbir.name = "x8"}, %y8: tensor<1x4x4x4xsi8> {hbir.name = "y8"}, %z8: tensor<1x4x4x4x!qnt.uniform<si8:f32, 0.25>> {hbir.name = "z8"}, %x16: tensor<1x4x4x4xsi16> {hbir.name = "x16"}, %x32: tensor<1x4x4x4xsi32> {hbir.name = "x32"}, %xf: tensor<1x4x4x4xf32> {hbir.name = "xf"}, %xh: tensor<1x4x4x4xf16> {hbir.name = "xh"}, %g: tensor<1x5x6x2xsi16> {hbir.name = "g"}, %c: tensor<1x4x4x4xi1> {hbir.name = "c"}, %a: tensor<1x3x4xsi8> {hbir.name = "a"}) -> (tensor<1x4x4x4xsi8>, tensor<2x1x6x5xsi16>, tensor<1x2x2x4xsi8>, tensor<1x4x4x8xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi32>, tensor<1x4x4x4xf16>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x8xf32>, tensor<1x1x1x4xf32>, tensor<1x4x4xsi64>) {
    %gm = "hbir.constant"() <{values = dense<1.500000e+00> : tensor<4xf32>}> : () -> tensor<4xf32> loc("gm")
    %44 = "b30.trans_layout"(%x8) <{perm = [0, 3, 1, 2]}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l44")
    %45 = "hbir.transpose"(%g) <{dims = [3, 0, 2, 1]}> : (tensor<1x5x6x2xsi16>) -> tensor<2x1x6x5xsi16> loc("l45")
    %46 = "hbir.slice"(%x8) <{begin = [0, 1, -2, 0], end = [1, 4, 4, 4], step = [1, 2, 1, 1]}> : (tensor<1x4x4x4xsi8>) -> tensor<1x2x2x4xsi8> loc("l46")
    %47 = "hbir.concat"(%x8, %y8) <{dim = -1 : i64}> : (tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>) -> tensor<1x4x4x8xsi8> loc("l47")
    %48 = "hbir.cast_type"(%x8) <{}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xf32> loc("l48")
    %49 = "hbdk.cast_type"(%c) <{}> : (tensor<1x4x4x4xi1>) -> tensor<1x4x4x4xsi32> loc("l49")
    %50 = "b30vpu.softmax"(%xh) <{dim = 3 : i64}> : (tensor<1x4x4x4xf16>) -> tensor<1x4x4x4xf16> loc("l50")
    %51 = "b30vpu.layer_norm"(%xf, %gm, %gm) <{dims = [3], eps = 1.0e-05 : f64}> : (tensor<1x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32> loc("l51")
    %52 = "b30vpu.rms_norm"(%xf, %gm) <{axis = 3 : i64, eps = 1.0e-05 : f64}> : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32> loc("l52")
    %53 = "b30vpu.sigmoid"(%xf) <{}> : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc("l53")
    %54 = "b30vpu.add"(%xf, %gm) <{}> : (tensor<1x4x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4x4xf32> loc("l54")
    %55 = "hbtl.call"(%xf) <{signature = "quant::quantize(Tensor, double[], int64_t[], bool, int64_t, bool) -> (Tensor)", parameters = [[1.0e-01], [0], false, 0, false], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xsi8> loc("l55")
    %56 = "hbtl.call"(%xf) <{signature = "native::Softmax(Tensor, int64_t) -> (Tensor)", parameters = [-1], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc("l56")
    %57 = "hbtl.call"(%x8) <{signature = "native::Transpose(Tensor, int64_t[]) -> (Tensor)", parameters = [[0, 3, 1, 2]], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l57")
    %58 = "hbtl.call"(%xf, %xf) <{signature = "native::Concat(Tensor[], int64_t) -> (Tensor)", parameters = [3], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x8xf32> loc("l58")
    %59 = "hbtl.call"(%xf) <{signature = "native::ReduceMean(Tensor, int64_t[], bool) -> (Tensor)", parameters = [[1, 2], true], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xf32>) -> tensor<1x1x1x4xf32> loc("l59")
    %60 = "hbtl.call"(%x8) <{signature = "native::Argmax(Tensor, int64_t[], bool) -> (Tensor)", parameters = [[3], false], diffRank = 0 : i64, isCustom = false}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4xsi64> loc("l60")
    return %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60 : tensor<1x4x4x4xsi8>, tensor<2x1x6x5xsi16>, tensor<1x2x2x4xsi8>, tensor<1x4x4x8xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi32>, tensor<1x4x4x4xf16>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x8xf32>, tensor<1x1x1x4xf32>, tensor<1x4x4xsi64>
  }
}
