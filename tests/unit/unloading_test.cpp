// dlclose() of libpooljit.so while its threads sleep, threads of the program hold scratch memory and a kernel
// is kept: the library stays where it is. (This program is linked with the layers, not with the library.)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "pooljit.h"

namespace {

class Library {
 public:
  Library() : handle_(dlopen(POOLJIT_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() {
    if (handle_) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <typename Function>
  Function* find(const char* name, Function* /*declaration*/) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

#define FIND(library, name) (library).find(#name, &::name)

// Compiles and runs a kernel with scratch memory on the built-in pool, and returns it.
pooljit_kernel* use(const Library& library) {
  pooljit_kernel* kernel = nullptr;
  const char* const spec = "max_pool2d(float32[4,16,80,80]:nhwc, kernel_size=13, stride=1, padding=6)";
  pooljit_options options = {};
  options.size = sizeof options;
  options.threads = 4;
  EXPECT_EQ(FIND(library, pooljit_compile)(spec, &options, &kernel), POOLJIT_OK);
  std::vector<float> input(4 * 16 * 80 * 80, 1), output(input.size());
  EXPECT_EQ(FIND(library, pooljit_run)(kernel, input.data(), output.data(), nullptr), POOLJIT_OK);
  EXPECT_EQ(output, input);
  return kernel;
}

TEST(Unloading, TheLibraryStaysForItsThreadsAndKernels) {
  pooljit_kernel* kernel = nullptr;
  pooljit_kernel* other = nullptr;
  std::thread([&] {
    {
      const Library library;
      kernel = use(library);
    }
    // This thread's end gives its scratch memory back, by code of the library.
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the workers go to sleep
  {
    const Library again;
    other = use(again);
    FIND(again, pooljit_release)(kernel);
    FIND(again, pooljit_release)(other);
  }
  // Its statics end with the process, after this.
}

}  // namespace
