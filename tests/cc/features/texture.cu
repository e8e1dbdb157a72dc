/* Texture and surface objects.
 * expect: tex\.2d\.v4\.f32\.f32
 * expect: tex\.1d\.v4\.f32\.s32
 * expect: tex\.a2d
 * expect: tex\.level
 * expect: suld\.b\.2d\.b32\.trap
 * expect: sust\.b\.2d\.b32\.clamp
 */
__global__ void texture(cudaTextureObject_t t, cudaSurfaceObject_t s, float *o, uchar4 *u)
{
    float4 v = tex2D<float4>(t, 1.0f, 2.0f);
    o[0] = v.x + tex1Dfetch<float>(t, 3) + tex3D<float>(t, 1, 2, 3) + tex2DLayered<float>(t, 1, 2, 3);
    o[1] = tex2DLod<float>(t, 1, 2, 3) + tex1D<float2>(t, 1.0f).y + tex2Dgather<float4>(t, 1, 2, 1).z;
    u[0] = tex2D<uchar4>(t, 1, 2);
    float x;
    surf2Dread(&x, s, 4, 5);
    surf2Dwrite(x * 2, s, 8, 9, cudaBoundaryModeClamp);
    surf2Dwrite(make_float4(1, 2, 3, 4), s, 8, 9);
    u[1] = surf1Dread<uchar4>(s, 4);
}
