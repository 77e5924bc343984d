// A stand-in for ml_dtypes, which Debian lacks: the type bfloat16 as numpy knows it, without arithmetic.
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

static PyTypeObject scalar_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ml_dtypes.bfloat16",
                                   .tp_basicsize = sizeof(PyObject), .tp_flags = Py_TPFLAGS_DEFAULT};

static PyObject* get_item(void* data, void* array) {
  (void)array;
  return PyLong_FromLong(*(const npy_uint16*)data);  // its bits
}
static int set_item(PyObject* value, void* data, void* array) {
  (void)array;
  *(npy_uint16*)data = (npy_uint16)PyLong_AsLong(value);
  return PyErr_Occurred() ? -1 : 0;
}
static void copy_swap(void* to, void* from, int swap, void* array) {
  (void)swap, (void)array;
  if (from) memcpy(to, from, 2);
}
static void copy_swap_n(void* to, npy_intp to_stride, void* from, npy_intp from_stride, npy_intp n, int swap,
                        void* array) {
  for (npy_intp i = 0; from && i < n; ++i)
    copy_swap((char*)to + i * to_stride, (char*)from + i * from_stride, swap, array);
}
static npy_bool is_nonzero(void* data, void* array) {
  (void)array;
  return (*(const npy_uint16*)data & 0x7fff) != 0;
}

static PyArray_ArrFuncs functions;
static PyArray_Descr descr = {PyObject_HEAD_INIT(NULL).typeobj = &scalar_type,
                              .kind = 'V',
                              .type = 'E',
                              .byteorder = '=',
                              .flags = NPY_USE_GETITEM | NPY_USE_SETITEM,
                              .elsize = 2,
                              .alignment = 2,
                              .f = &functions,
                              .hash = -1};

static PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, .m_name = "ml_dtypes", .m_size = -1};

PyMODINIT_FUNC PyInit_ml_dtypes(void) {
  import_array();
  scalar_type.tp_base = &PyGenericArrType_Type;
  if (PyType_Ready(&scalar_type) < 0) return NULL;
  PyArray_InitArrFuncs(&functions);
  functions.getitem = get_item;
  functions.setitem = set_item;
  functions.copyswap = copy_swap;
  functions.copyswapn = copy_swap_n;
  functions.nonzero = is_nonzero;
  Py_SET_TYPE(&descr, &PyArrayDescr_Type);
  if (PyArray_RegisterDataType(&descr) < 0) return NULL;
  PyDict_SetItemString(scalar_type.tp_dict, "dtype", (PyObject*)&descr);
  PyObject* module = PyModule_Create(&module_definition);
  if (module) PyModule_AddObjectRef(module, "bfloat16", (PyObject*)&scalar_type);
  return module;
}
