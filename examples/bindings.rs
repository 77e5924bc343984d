// pooljit from Rust: what pooljit.h declares, as far as a program needs it, and a run.
//
//   rustc -O bindings.rs -l pooljit
//
// Fields are those of pooljit.h in its order; what is zeroed is the default.
use std::ffi::{CStr, CString};
use std::mem;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

#[repr(C)]
pub struct Options {
    pub size: usize,
    pub backend: *const c_char,
    pub isa: *const c_char,
    pub schedule: *const c_char,
    pub threads: i32,
    pub verify: i32,
    pub tune_db: *const c_char,
    pub measure: *const c_char,
    pub names: *const c_char,
    pub fallback: *const c_char,
    pub label: *const c_char,
    pub sizes: i32,
}

#[repr(C)]
pub struct Tensor {
    pub dtype: *const c_char,
    pub layout: *const c_char,
    pub rank: i32,
    pub dims: [i64; 8],
    pub strides: [i64; 8],
    pub channel_block: i64,
}

/// The first fields of pooljit_info: the library writes no more than `size` says.
#[repr(C)]
pub struct Info {
    pub size: usize,
    pub input: Tensor,
    pub output: Tensor,
    pub indices: Tensor,
    pub input_bytes: i64,
    pub output_bytes: i64,
    pub indices_bytes: i64,
}

pub type Task = extern "C" fn(argument: *mut c_void, number: i64);
pub type Parallel = extern "C" fn(context: *mut c_void, tasks: i64, task: Task, argument: *mut c_void);

#[repr(C)]
pub struct Args {
    pub size: usize,
    pub input: *const c_void,
    pub outputs: *const *mut c_void,
    pub indices: *const *mut c_void,
    pub operands: *const *const c_void,
    pub output_count: i32,
    pub indices_count: i32,
    pub operand_count: i32,
    pub has_batch: i32,
    pub batch: i64,
    pub dims: *const i64,
    pub dim_count: i32,
    pub threads: i32,
    pub part: i32,
    pub parts: i32,
    pub has_bytes: i32,
    pub parallel: Option<Parallel>,
    pub context: *mut c_void,
    pub scratch: *mut c_void,
    pub input_bytes: i64,
    pub output_bytes: *const i64,
    pub indices_bytes: *const i64,
    pub operand_bytes: *const i64,
}

extern "C" {
    fn pooljit_compile(spec: *const c_char, options: *const Options, kernel: *mut *mut c_void) -> c_int;
    fn pooljit_kernel_info(kernel: *const c_void, info: *mut Info) -> c_int;
    fn pooljit_run_with(kernel: *const c_void, args: *const Args) -> c_int;
    fn pooljit_release(kernel: *mut c_void);
    fn pooljit_last_error() -> *const c_char;
}

fn checked(code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(pooljit_last_error()) }.to_string_lossy().into_owned())
}

/// A compiled layer of float32. May be shared and run by many threads at once.
pub struct Kernel {
    handle: *mut c_void,
    image: usize, // elements of one image, and of its result
    result: usize,
}
unsafe impl Send for Kernel {}
unsafe impl Sync for Kernel {}

impl Kernel {
    pub fn new(spec: &str) -> Result<Kernel, String> {
        let text = CString::new(spec).map_err(|error| error.to_string())?;
        let mut kernel = Kernel { handle: ptr::null_mut(), image: 0, result: 0 };
        unsafe {
            let mut options: Options = mem::zeroed();
            options.size = mem::size_of::<Options>();
            options.threads = 1;
            checked(pooljit_compile(text.as_ptr(), &options, &mut kernel.handle))?;
            let mut info: Info = mem::zeroed();
            info.size = mem::size_of::<Info>();
            checked(pooljit_kernel_info(kernel.handle, &mut info))?;
            kernel.image = info.input_bytes as usize / mem::size_of::<f32>();
            kernel.result = info.output_bytes as usize / mem::size_of::<f32>();
        }
        Ok(kernel)
    }

    /// As many images as there are. The library checks the sizes.
    pub fn run(&self, images: &[f32]) -> Result<Vec<f32>, String> {
        let count = images.len() / self.image;
        let mut results = vec![0f32; count * self.result];
        let output = results.as_mut_ptr() as *mut c_void;
        let output_bytes = mem::size_of_val(&results[..]) as i64;
        unsafe {
            let mut args: Args = mem::zeroed();
            args.size = mem::size_of::<Args>();
            args.input = images.as_ptr() as *const c_void;
            args.outputs = &output;
            args.output_count = 1;
            args.has_batch = 1;
            args.batch = count as i64;
            args.has_bytes = 1;
            args.input_bytes = mem::size_of_val(images) as i64;
            args.output_bytes = &output_bytes;
            checked(pooljit_run_with(self.handle, &args))?;
        }
        Ok(results)
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        unsafe { pooljit_release(self.handle) }
    }
}

fn main() -> Result<(), String> {
    let kernel = Kernel::new("max_pool2d(float32[N,1,4,4], kernel_size=2)")?;
    let images: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let maxima = kernel.run(&images)?;
    assert_eq!(maxima, [5.0, 7.0, 13.0, 15.0, 21.0, 23.0, 29.0, 31.0]);
    let error = Kernel::new("max_pool2d(float32[N,1,4,4], kernel_size=0)").err().unwrap();
    assert!(error.starts_with("spec.kernel"), "{}", error);
    println!("two images, their maxima: {:?}", maxima);
    Ok(())
}
