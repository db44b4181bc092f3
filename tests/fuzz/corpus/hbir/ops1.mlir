module attributes {hbdk.target = "B30G"} {
  func.func @main(%x8: tensor<1x4x4x4xsi8> {hbir.name = "x8"}, %y8: tensor<1x4x4x4xsi8> {hbir.name = "y8"}, %z8: tensor<1x4x4x4x!qnt.uniform<si8:f32, 0.25>> {hbir.name = "z8"}, %x16: tensor<1x4x4x4xsi16> {hbir.name = "x16"}, %x32: tensor<1x4x4x4xsi32> {hbir.name = "x32"}, %xf: tensor<1x4x4x4xf32> {hbir.name = "xf"}, %xh: tensor<1x4x4x4xf16> {hbir.name = "xh"}, %g: tensor<1x5x6x2xsi16> {hbir.name = "g"}, %c: tensor<1x4x4x4xi1> {hbir.name = "c"}, %a: tensor<1x3x4xsi8> {hbir.name = "a"}) -> (tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x8x6x4xsi8>, tensor<1x2x3x4xsi8>, tensor<1x5x6x4xsi8>, tensor<1x5x6x4xsi8>, tensor<1x5x6x4xsi8>, tensor<2x32xsi8>) {
    %k4 = "hbir.constant"() <{values = dense<[[[[1, -2, 3, -128]]]]> : tensor<1x1x1x4xsi8>}> : () -> tensor<1x1x1x4xsi8> loc("k4")
    %22 = "b30.rescale"(%x16) <{inScale = 1.000000e-02 : f64, outScale = 2.500000e-01 : f64}> : (tensor<1x4x4x4xsi16>) -> tensor<1x4x4x4xsi8> loc("l22")
    %23 = "b30.quantize"(%xf) <{scales = [1.000000e-01], zeros = [0], axis = 0 : i64}> : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xsi8> loc("l23")
    %24 = "b30.quantize"(%xh) <{scales = [1.0e-01, 0.2, 0.3, 0.4], axis = -1}> : (tensor<1x4x4x4xf16>) -> tensor<1x4x4x4xsi16> loc("l24")
    %25 = "b30.dequantize"(%x32) <{scales = [0.5, 0.25, 1.0, 2.0], axis = 3}> : (tensor<1x4x4x4xsi32>) -> tensor<1x4x4x4xf32> loc("l25")
    %26 = "b30.dequantize"(%z8) <{}> : (tensor<1x4x4x4x!qnt.uniform<si8:f32, 0.25>>) -> tensor<1x4x4x4xf32> loc("l26")
    %27 = "b30.binary_eltwise"(%x8, %k4) <{mode = "add", lhsShift = 4 : i64, rhsShift = 2 : i64, rhsScale = 9 : i64, preRShift = 1 : i64, scale = 300 : i64, postRShift = 9 : i64}> : (tensor<1x4x4x4xsi8>, tensor<1x1x1x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l27")
    %28 = "b30.binary_eltwise"(%x8, %x16) <{mode = "sub", rhsScale = [1, 2, 3, 4], preRShift = 1 : i64, scale = 300 : i64, postRShift = 9 : i64}> : (tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>) -> tensor<1x4x4x4xsi16> loc("l28")
    %29 = "b30.binary_eltwise"(%x8, %x16) <{mode = "mul", preRShift = 1 : i64, scale = 300 : i64, postRShift = 9 : i64}> : (tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>) -> tensor<1x4x4x4xsi8> loc("l29")
    %30 = "b30.binary_eltwise"(%x8, %y8) <{mode = "max"}> : (tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l30")
    %31 = "b30.binary_eltwise"(%xh, %xh) <{mode = "div"}> : (tensor<1x4x4x4xf16>, tensor<1x4x4x4xf16>) -> tensor<1x4x4x4xf16> loc("l31")
    %32 = "b30.unary_eltwise"(%x8) <{mode = "abs"}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l32")
    %33 = "b30.unary_eltwise"(%x8) <{mode = "neg"}> : (tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l33")
    %34 = "b30.unary_eltwise"(%x16) <{mode = "relu"}> : (tensor<1x4x4x4xsi16>) -> tensor<1x4x4x4xsi16> loc("l34")
    %35 = "b30.unary_eltwise"(%x32) <{mode = "shift", rshift = 5 : i64}> : (tensor<1x4x4x4xsi32>) -> tensor<1x4x4x4xsi8> loc("l35")
    %36 = "b30.unary_eltwise"(%xf) <{mode = "abs"}> : (tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc("l36")
    %37 = "b30.ternary_eltwise"(%c, %x8, %y8) <{mode = "select"}> : (tensor<1x4x4x4xi1>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>) -> tensor<1x4x4x4xsi8> loc("l37")
    %38 = "b30.resize2d"(%x8) <{size = [8, 6], step = [32768, 43690], initialOffset = [-16384, -10923], mode = "bilinear", expansionMode = #hbdk<ExpansionMode border>}> : (tensor<1x4x4x4xsi8>) -> tensor<1x8x6x4xsi8> loc("l38")
    %39 = "b30.resize2d"(%x8) <{size = [2, 3], ratio = [5.0e-01, 7.5e-01], mode = "nearest", expansionMode = "border"}> : (tensor<1x4x4x4xsi8>) -> tensor<1x2x3x4xsi8> loc("l39")
    %40 = "b30.warp"(%x8, %g) <{isAbsoluteMv = true, isMoveYx = false, moveFracBitNum = 5 : i64, padBorder = true, mode = "bilinear"}> : (tensor<1x4x4x4xsi8>, tensor<1x5x6x2xsi16>) -> tensor<1x5x6x4xsi8> loc("l40")
    %41 = "b30.grid_sample"(%x8, %g) <{isMoveYx = true, moveFracBitNum = 8 : i64, padBorder = false, mode = "bilinear"}> : (tensor<1x4x4x4xsi8>, tensor<1x5x6x2xsi16>) -> tensor<1x5x6x4xsi8> loc("l41")
    %42 = "b30.gather2d"(%x8, %g) <{isMoveYx = true, padBorder = false}> : (tensor<1x4x4x4xsi8>, tensor<1x5x6x2xsi16>) -> tensor<1x5x6x4xsi8> loc("l42")
    %43 = "b30.reshape"(%x8) <{shape = [2, -1]}> : (tensor<1x4x4x4xsi8>) -> tensor<2x32xsi8> loc("l43")
    return %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43 : tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xsi16>, tensor<1x4x4x4xsi8>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xsi8>, tensor<1x8x6x4xsi8>, tensor<1x2x3x4xsi8>, tensor<1x5x6x4xsi8>, tensor<1x5x6x4xsi8>, tensor<1x5x6x4xsi8>, tensor<2x32xsi8>
  }
}
