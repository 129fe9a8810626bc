#include "api_calls.hpp"

#include <cupti.h>
#include <dlfcn.h>

#include <stdexcept>

// CUPTI is opened when it is needed, so that the binary starts where it is not installed.

namespace refrain::bench {
namespace {

struct Cupti {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  std::string why_not;
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

std::string failure(CUptiResult result, const char* call) {
  return result == CUPTI_SUCCESS ? "" : std::string(call) + " failed with CUPTI's code " + std::to_string(result);
}

void check(CUptiResult result, const char* call) {
  if (const std::string text = failure(result, call); !text.empty()) throw std::runtime_error(text);
}

thread_local std::vector<std::string>* calls = nullptr;  // of the counting thread; null on all others
thread_local int runtime_depth = 0;

/// "cudaGraphLaunch_v10000" -> "cudaGraphLaunch"
std::string plain_name(const char* name) {
  std::string text(name);
  return text.substr(0, text.rfind("_v"));
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (calls == nullptr) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  if (enters && runtime_depth == 0) calls->push_back(plain_name(call.functionName));
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) runtime_depth += enters ? 1 : -1;
}

/// Why calls cannot be observed, as without a driver or beside another tool; empty when they can.
std::string try_out(const Cupti& cupti) {
  CUpti_SubscriberHandle subscriber = nullptr;
  const std::string text = failure(cupti.subscribe(&subscriber, on_call, nullptr), "cuptiSubscribe");
  return text.empty() ? failure(cupti.unsubscribe(subscriber), "cuptiUnsubscribe") : text;
}

Cupti open_cupti() {
  Cupti cupti;
  void* library = dlopen(REFRAIN_BENCH_CUPTI, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libcupti.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cupti.why_not = dlerror();
    return cupti;
  }
  look_up(library, "cuptiSubscribe", cupti.subscribe);
  look_up(library, "cuptiUnsubscribe", cupti.unsubscribe);
  look_up(library, "cuptiEnableDomain", cupti.enable_domain);
  const bool complete = cupti.subscribe && cupti.unsubscribe && cupti.enable_domain;
  cupti.why_not = complete ? try_out(cupti) : REFRAIN_BENCH_CUPTI " is not the CUPTI that is needed";
  return cupti;
}

const Cupti& cupti() {
  static const Cupti opened = open_cupti();
  return opened;
}

}  // namespace

std::string why_no_api_calls() { return cupti().why_not; }

std::vector<std::string> api_calls(const std::function<void()>& run) {
  CUpti_SubscriberHandle subscriber = nullptr;
  check(cupti().subscribe(&subscriber, on_call, nullptr), "cuptiSubscribe");
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    check(cupti().enable_domain(1, subscriber, domain), "cuptiEnableDomain");
  }
  std::vector<std::string> found;
  calls = &found;
  run();
  calls = nullptr;
  check(cupti().unsubscribe(subscriber), "cuptiUnsubscribe");
  return found;
}

}  // namespace refrain::bench
