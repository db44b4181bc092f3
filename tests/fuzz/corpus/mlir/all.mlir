#map = affine_map<(d0, d1)[s0] -> (d0 + s0, d1 mod 4)>
!t = tensor<2x3xf32>
module @m attributes {hbdk.target = "B30G", a.x} {
  func.func private @g(i32 {a.b = 1 : i32}, !t) -> (i32, i64 {x.y})
  func.func @main(%arg0: tensor<1x8192x?x1xui8, {dynamic_dims = [-2, -3]}> {hbir.name = "img"} loc("a.py":3:4), %arg1: !t) -> (!t {hbir.scale = !qnt.uniform<si8:f32:3, {0.1, 0.2}>}, i32) attributes {z = #map} {
    %0:2 = "a.b"(%arg0, %1#1) <{v = dense<[[1.0, 2.0, 3.0], [4.0, -5.0, 0x7FC00000]]> : tensor<2x3xf32>, s = dense<true> : tensor<4xi1>, i = dense<[true, false, true]> : tensor<3xi1>}> ({
    ^bb0(%x: i32):
      "c.d"(%x)[^bb1] : (i32) -> ()
    ^bb1:
      "e"() : () -> ()
    }, {}) {k = array<i64: 1, -2>, r = dense_resource<blob> : tensor<2xi8>, o = #hbdk<Enum a>, p = @"a b"::@c, h = dense<"0x0102"> : tensor<2xi8>, c = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>, str = dense<["a", "b"]> : tensor<2x!foo.s>} : (tensor<1x8192x?x1xui8, {dynamic_dims = [-2, -3]}>, i64) -> (!t, i32) loc(#loc3)
    %1:2 = "q"() {sp = sparse<[[0, 1], [1, 2]], [1.0, 2.0]> : tensor<2x3xf32>, d = distinct[0]<42 : i32>, st = strided<[1, ?], offset: 3>} : () -> (vector<[4]x2xf32>, i64)
    return %0#0, %0#1 : !t, i32 loc(unknown)
  }
}
#loc1 = loc("layer.0")
#loc3 = loc(fused<{a = 1}>["x.py":1:2, #loc1])
{-# dialect_resources: { builtin: { blob: "0x040000000102" } }, external_resources: {a: {b: "x", c: true}} #-}
