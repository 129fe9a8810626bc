// host (and with -DGPU device) elementwise against a naive reference
#include "kernels/host.hpp"
#ifdef GPU
#include "kernels/cuda.hpp"
#endif
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>
#include <memory>
using namespace refrain::kernels;
std::mt19937_64 rng(7);
template<class T> T rnd(){ u64 r=rng(); if constexpr(std::is_same_v<T,bool>) return r&1; else if constexpr(std::is_integral_v<T>) return (T)(r>>(rng()%64)); else { switch(r%16){case 0:return 0;case 1:return (T)-0.0;case 2:return std::numeric_limits<T>::infinity();case 3:return -std::numeric_limits<T>::infinity();case 4:return std::numeric_limits<T>::quiet_NaN();case 5:return (T)2147483648.0;case 6:return (T)-2147483648.0;case 7:return (T)9223372036854775808.0;case 8:return (T)-9223372036854775808.0;case 9:return (T)2147483647.5;case 10: return (T)1e30;case 11:return (T)-2147483649.0;default:return (T)(((double)(i64)rng())*std::pow(2.0,-(double)(rng()%70)));} } }
template<class To,class From> To conv(From x){ // independent: via long double
  if constexpr(std::is_same_v<To,bool>) return !(x==0);
  else if constexpr(std::is_floating_point_v<From>&&std::is_integral_v<To>){ if(x!=x)return 0; long double t=truncl((long double)x); if(t>=(long double)std::numeric_limits<To>::max())return std::numeric_limits<To>::max(); if(t<=(long double)std::numeric_limits<To>::min())return std::numeric_limits<To>::min(); return (To)t; }
  else return (To)x; }
template<class T> T ref(int op,T a,T b){ if constexpr(std::is_integral_v<T>){ __int128 x=a,y=b,r=op==0?x+y:op==1?x-y:op==2?(__int128)((unsigned __int128)x*(unsigned __int128)y):-x; using U=std::make_unsigned_t<T>; return (T)(U)(unsigned __int128)r; } else { volatile T r= op==0?a+b:op==1?a-b:op==2?a*b:op==3?a/b:-a; return r; } }
template<class T> bool same(T x,T y){ if constexpr(std::is_floating_point_v<T>) if(x!=x&&y!=y)return true; return !std::memcmp(&x,&y,sizeof(T)); }
long cases=0,bad=0;
#ifdef GPU
char* pool; 
#endif
template<class In,class Out,class F> void run(int op,Type it,Type ot,int count,F f,const char* name){
 struct Shape{int ndim; i64 e[4]; i64 s[2][4]; bool cont;};
 std::vector<Shape> shapes;
 for(i64 n:{1,2,3,7,15,16,17,31,64,255,1000,1027,300001}) shapes.push_back({1,{n},{{1},{1}},true});
 shapes.push_back({2,{5,7},{{7,1},{0,1}},false}); shapes.push_back({2,{5,7},{{1,5},{1,0}},false}); shapes.push_back({2,{67,133},{{1,67},{133,1}},false}); shapes.push_back({3,{3,4,5},{{0,5,1},{20,0,1}},false}); shapes.push_back({4,{2,3,4,37},{{1000,300,-1,2},{0,0,0,0}},false}); shapes.push_back({1,{100},{{-1},{3}},false}); shapes.push_back({2,{1,9},{{0,2},{5,1}},false}); shapes.push_back({3,{7,1,65},{{65,9,1},{1,3,7}},false});
 for(auto&sh:shapes) for(int form=0;form<(1<<count);form++) for(int mis=0;mis<2;mis++){
  i64 n=1; for(int k=0;k<sh.ndim;k++)n*=sh.e[k]; const i64 B=sh.cont?0:4000; i64 cap=std::max<i64>(n,8000)+B+64;
  auto out_=std::make_unique<Out[]>(n+64); auto want_=std::make_unique<Out[]>(n); Out*out=out_.get();Out*want=want_.get(); ElementwiseArgs a{}; a.op=(ElementwiseOp)op;a.in_type=it;a.out_type=ot;a.contiguous=sh.cont;a.input_count=count;a.ndim=sh.ndim;a.size=n; for(int k=0;k<sh.ndim;k++)a.extents[k]=sh.e[k]; a.out=out+mis; In sc[2];
  struct Fix{unsigned char*p;}; std::vector<unsigned char> raw[2];
  for(int j=0;j<count;j++){ raw[j].assign((cap)*sizeof(In)+64,0); In*p=(In*)raw[j].data(); if constexpr(std::is_same_v<In,bool>){for(i64 i=0;i<cap;i++)raw[j][i]=(rng()%3==0)?0:1;} else for(i64 i=0;i<cap;i++)p[i]=rnd<In>(); sc[j]=rnd<In>(); for(int k=0;k<sh.ndim;k++)a.inputs[j].strides[k]=sh.s[j][k]; if(form>>j&1){a.inputs[j].data=nullptr; if constexpr(std::is_floating_point_v<In>)a.inputs[j].scalar.f=sc[j]; else a.inputs[j].scalar.i=sc[j];} else a.inputs[j].data=p+B+mis; }
  for(i64 i=0;i<n;i++){ i64 r=i,o[2]={0,0}; if(sh.cont)o[0]=o[1]=i; else for(int k=sh.ndim-1;k>=0;k--){i64 q=r%sh.e[k];r/=sh.e[k];o[0]+=q*sh.s[0][k];o[1]+=q*sh.s[1][k];} In v[2]={}; for(int j=0;j<count;j++) v[j]=(form>>j&1)?sc[j]:((const In*)a.inputs[j].data)[o[j]]; want[i]=f(v[0],v[1]); }
  auto check=[&](const Out*got,const char*where){ cases++; for(i64 i=0;i<n;i++) if(!same(got[i],want[i])){ bad++; if(bad<20)std::printf("%s %s op%d %d->%d n%lld form%d mis%d at %lld: got %.17g want %.17g\n",where,name,op,(int)it,(int)ot,n,form,mis,i,(double)got[i],(double)want[i]); break; } };
  elementwise_host(a); check(out+mis,"host");
#ifdef GPU
  { ElementwiseArgs d=a; char*p=pool; for(int j=0;j<count;j++) if(a.inputs[j].data){ i64 bytes=raw[j].size(); cudaMemcpy(p,raw[j].data(),bytes,cudaMemcpyHostToDevice); d.inputs[j].data=p+(B+mis)*sizeof(In); p+=(bytes+255)/256*256; } d.out=p+mis*sizeof(Out); cudaError_t e=launch_elementwise(d,132,0); if(e)std::printf("launch %d\n",e); std::vector<unsigned char> g(n*sizeof(Out)); cudaMemcpy(g.data(),d.out,g.size(),cudaMemcpyDeviceToHost); check((const Out*)g.data(),"cuda"); }
#endif
  if constexpr(std::is_same_v<In,Out>) if(sh.cont) for(int j=0;j<count;j++) if(!(form>>j&1)){ a.out=const_cast<void*>(a.inputs[j].data); elementwise_host(a); check((Out*)a.out,"inplace"); break; }
 } }
template<class T> void arith(Type t){ for(int op=0;op<5;op++){ if(op==3&&std::is_integral_v<T>)continue; run<T,T>(op,t,t,op==4?1:2,[op](T a,T b){return ref<T>(op,a,b);},"arith"); } }
template<class From,class To> void copy(Type a,Type b){ run<From,To>(5,a,b,1,[](From x,From){return conv<To>(x);},"copy"); }
template<class From> void copies(Type a){ copy<From,bool>(a,Type::bool_);copy<From,i32>(a,Type::int32);copy<From,i64>(a,Type::int64);copy<From,float>(a,Type::float32);copy<From,double>(a,Type::float64); }
int main(){
#ifdef GPU
 cudaMalloc(&pool,64<<20);
#endif
 arith<i32>(Type::int32);arith<i64>(Type::int64);arith<float>(Type::float32);arith<double>(Type::float64); copies<bool>(Type::bool_);copies<i32>(Type::int32);copies<i64>(Type::int64);copies<float>(Type::float32);copies<double>(Type::float64);
 std::printf("elementwise: %ld cases, %ld bad\n",cases,bad); return bad!=0; }
