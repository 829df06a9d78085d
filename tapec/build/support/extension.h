/* What the functions of an extension module share: reading arguments, making results.
   Written for Python's stable interface of 3.11, so that one binary serves all later versions. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "a 64-bit Python");

/* What the module holds: NumPy's types, `numpy.empty`, and the names of all parameters. */
typedef struct {
    PyObject *ndarray, *floats, *integers, *booleans, *empty;
    PyObject *names;
} State;

/* The parameters of one Python function; `first` is the place of its names in `State.names`. */
typedef struct {
    const char *function;
    Py_ssize_t first, count;
    const bool *required;
} Signature;

/* What an array must be; `kind` is one of "fiub", `layout` one of "CFA". */
typedef struct {
    const char *function, *label, *dtype;
    char kind, layout;
    int itemsize, rank;
    bool written;
} Array;

static bool wrong(PyObject *class, const char *function, const char *label, const char *format, ...)
{
    va_list more;
    va_start(more, format);
    PyObject *text = PyUnicode_FromFormatV(format, more);
    va_end(more);
    if (text != NULL) {
        PyErr_Format(class, "%s(): `%s` %U", function, label, text);
        Py_DECREF(text);
    }
    return false;
}

/* The name of an object's type, for messages; a new reference, or NULL. */
static PyObject *type_name(PyObject *object)
{
    return PyType_GetName(Py_TYPE(object));
}

static bool wrong_type(const char *function, const char *label, const char *expected, PyObject *found)
{
    PyObject *name = type_name(found);
    if (name != NULL) {
        wrong(PyExc_TypeError, function, label, "must be %s, not %U", expected, name);
        Py_DECREF(name);
    }
    return false;
}

/* Sort the arguments of a call into `given`, whose places are NULL where there is a default. */
static bool collect(const Signature *signature, State *state, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *keywords, PyObject **given)
{
    const char *function = signature->function;
    if (nargs > signature->count) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s but %zd %s given", function,
                     signature->count, signature->count == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
        return false;
    }
    for (Py_ssize_t k = 0; k < nargs; k++)
        given[k] = args[k];
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_Size(keywords);
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *keyword = PyTuple_GetItem(keywords, k);
        Py_ssize_t place = 0;
        /* names in calls are interned, mostly */
        while (place < signature->count && PyTuple_GetItem(state->names, signature->first + place) != keyword)
            place++;
        if (place == signature->count) {
            place = 0;
            while (place < signature->count &&
                   PyUnicode_Compare(PyTuple_GetItem(state->names, signature->first + place), keyword) != 0)
                place++;
        }
        if (place == signature->count) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, keyword);
            return false;
        }
        if (given[place] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", function, keyword);
            return false;
        }
        given[place] = args[nargs + k];
    }
    for (Py_ssize_t k = 0; k < signature->count; k++)
        if (given[k] == NULL && signature->required[k]) {
            PyObject *name = PyTuple_GetItem(state->names, signature->first + k);
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%U'", function, name);
            return false;
        }
    return true;
}

/* Whether an object is of one of NumPy's number types; false with an exception if that fails. */
static bool is_instance(PyObject *object, PyObject *types)
{
    return PyObject_IsInstance(object, types) == 1;
}

static bool read_float(State *state, PyObject *object, const char *function, const char *label, double *value)
{
    if (!PyFloat_Check(object) && !PyLong_Check(object) && !is_instance(object, state->floats))
        return PyErr_Occurred() ? false : wrong_type(function, label, "a number", object);
    *value = PyFloat_AsDouble(object);
    return !(*value == -1.0 && PyErr_Occurred());
}

static bool read_bool(State *state, PyObject *object, const char *function, const char *label, bool *value)
{
    if (!PyBool_Check(object) && !is_instance(object, state->booleans))
        return PyErr_Occurred() ? false : wrong_type(function, label, "a bool", object);
    int truth = PyObject_IsTrue(object);
    *value = truth == 1;
    return truth >= 0;
}

/* The Python int of an integer argument; a new reference, or NULL. */
static PyObject *integer(State *state, PyObject *object, const char *function, const char *label)
{
    if (!PyLong_Check(object) && !is_instance(object, state->integers)) {
        if (!PyErr_Occurred())
            wrong_type(function, label, "an integer", object);
        return NULL;
    }
    return PyNumber_Long(object);
}

static bool out_of_range(const char *function, const char *label, PyObject *number)
{
    PyErr_Clear();
    wrong(PyExc_OverflowError, function, label, "is %S, which is out of range", number);
    Py_DECREF(number);
    return false;
}

static bool read_signed(State *state, PyObject *object, const char *function, const char *label, int bits,
                        int64_t *value)
{
    PyObject *number = integer(state, object, function, label);
    if (number == NULL)
        return false;
    *value = PyLong_AsLongLong(number);
    int64_t limit = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    if (PyErr_Occurred() || *value > limit || *value < -limit - 1)
        return out_of_range(function, label, number);
    Py_DECREF(number);
    return true;
}

static bool read_unsigned(State *state, PyObject *object, const char *function, const char *label, int bits,
                          uint64_t *value)
{
    PyObject *number = integer(state, object, function, label);
    if (number == NULL)
        return false;
    *value = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || (bits < 64 && *value >> bits != 0))
        return out_of_range(function, label, number);
    Py_DECREF(number);
    return true;
}

static bool read_none(PyObject *object, const char *function, const char *label)
{
    return object == Py_None || wrong_type(function, label, "None", object);
}

/* The kind of element that a buffer's format names: one of "fiub", or 0. */
static char kind_of(const char *format)
{
    if (format == NULL)
        return 'u';
    if (strchr("@=<>!^", format[0]) != NULL && format[0] != 0)
        format++;
    if (format[0] == 0 || format[1] != 0)
        return 0;
    if (strchr("efdg", format[0]) != NULL)
        return 'f';
    if (strchr("bhilqn", format[0]) != NULL)
        return 'i';
    if (strchr("BHILQN", format[0]) != NULL)
        return 'u';
    return format[0] == '?' ? 'b' : 0;
}

static bool check_elements(const Array *array, const Py_buffer *view)
{
    char kind = kind_of(view->format);
    if (kind != array->kind || view->itemsize != array->itemsize) {
        const char *name = kind == 'f' ? "float" : kind == 'i' ? "int" : kind == 'u' ? "uint" : "bool";
        if (kind == 0)
            return wrong(PyExc_TypeError, array->function, array->label, "must be an array of %s, not of other elements",
                         array->dtype);
        if (kind == 'b')
            return wrong(PyExc_TypeError, array->function, array->label, "must be an array of %s, not of bool",
                         array->dtype);
        return wrong(PyExc_TypeError, array->function, array->label, "must be an array of %s, not of %s%zd",
                     array->dtype, name, 8 * view->itemsize);
    }
    if (view->itemsize > 1 && view->format != NULL && (view->format[0] == '>' || view->format[0] == '!'))
        return wrong(PyExc_ValueError, array->function, array->label,
                     "has the byte order of other machines; pass x.astype(numpy.%s)", array->dtype);
    return true;
}

static bool check_layout(const Array *array, const Py_buffer *view)
{
    bool aligned = (uintptr_t)view->buf % array->itemsize == 0;
    bool empty = view->len == 0;
    for (int k = 0; k < view->ndim; k++)
        aligned = aligned && view->strides[k] % array->itemsize == 0;
    if (!aligned && !empty)
        return wrong(PyExc_ValueError, array->function, array->label, "is misaligned; pass a copy");
    if (array->layout != 'A' && !PyBuffer_IsContiguous(view, array->layout))
        return wrong(PyExc_ValueError, array->function, array->label, "must be contiguous in %s order; pass numpy.%s(x)",
                     array->layout == 'C' ? "C" : "Fortran",
                     array->layout == 'C' ? "ascontiguousarray" : "asfortranarray");
    return true;
}

/* Take hold of an array's memory; on success the caller must release the view. */
static bool read_array(State *state, PyObject *object, const Array *array, Py_buffer *view)
{
    if (!PyObject_CheckBuffer(object)) {
        wrong_type(array->function, array->label, "an array", object);
        return false;
    }
    /* a view would lose the mask; exact arrays, the common case, are not looked at */
    if ((PyObject *)Py_TYPE(object) != state->ndarray && PyObject_HasAttrString(object, "mask"))
        return wrong(PyExc_TypeError, array->function, array->label, "must not be a masked array");
    if (PyObject_GetBuffer(object, view, array->written ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();
        if (PyObject_GetBuffer(object, view, PyBUF_RECORDS_RO) != 0) {
            PyErr_Clear();
            return wrong(PyExc_TypeError, array->function, array->label, "must be an array of %s, not of other elements",
                         array->dtype);
        }
        PyBuffer_Release(view);
        return wrong(PyExc_ValueError, array->function, array->label, "is read-only, but the function writes into it");
    }
    if (view->ndim != array->rank) {
        const char *plural = array->rank == 1 ? "axis" : "axes";
        wrong(PyExc_TypeError, array->function, array->label, "must have %d %s, not %d", array->rank, plural,
              view->ndim);
    } else if (check_elements(array, view) && check_layout(array, view)) {
        return true;
    }
    PyBuffer_Release(view);
    return false;
}

/* Two arrays that must have one shape, such as a tangent and what it belongs to. */
static bool same_shape(const char *function, const char *label, const Py_buffer *view, const char *other,
                       const Py_buffer *like)
{
    for (int k = 0; k < view->ndim; k++)
        if (view->shape[k] != like->shape[k])
            return wrong(PyExc_ValueError, function, label, "must have the shape of `%s`", other);
    return true;
}

/* The items of a tuple or list as a tuple, kept alive by `kept`; NULL with an exception if it is none. */
static PyObject *read_items(PyObject *object, const char *function, const char *label, Py_ssize_t count,
                            PyObject **kept)
{
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        wrong_type(function, label, "a tuple", object);
        return NULL;
    }
    *kept = PySequence_Tuple(object);
    if (*kept != NULL && PyTuple_Size(*kept) != count) {
        wrong(PyExc_TypeError, function, label, "must have %zd item%s, not %zd", count, count == 1 ? "" : "s",
              PyTuple_Size(*kept));
        return NULL;
    }
    return *kept;
}

/* A new array, and its memory, which lives as long as the array does; NULL with an exception on failure. */
static PyObject *new_array(State *state, const char *dtype, char order, int rank, const Py_ssize_t *shape, void *memory)
{
    PyObject *extents = PyTuple_New(rank);
    for (int k = 0; extents != NULL && k < rank; k++) {
        PyObject *extent = PyLong_FromSsize_t(shape[k]);
        if (extent == NULL || PyTuple_SetItem(extents, k, extent) != 0)
            Py_CLEAR(extents);
    }
    if (extents == NULL)
        return NULL;
    char letter[2] = {order, 0};
    PyObject *made = PyObject_CallFunction(state->empty, "Nss", extents, dtype, letter);
    Py_buffer view;
    if (made == NULL || PyObject_GetBuffer(made, &view, PyBUF_RECORDS) != 0) {
        Py_XDECREF(made);
        return NULL;
    }
    *(void **)memory = view.buf;
    PyBuffer_Release(&view);
    return made;
}

/* A new array with the elements of memory from malloc. */
static PyObject *copied_array(State *state, const char *dtype, size_t itemsize, char order, int rank,
                              const int64_t *shape, const void *elements)
{
    void *memory = NULL;
    PyObject *made = new_array(state, dtype, order, rank, (const Py_ssize_t *)shape, &memory);
    size_t size = itemsize;
    for (int k = 0; k < rank; k++)
        size *= (size_t)shape[k];
    if (made != NULL && size > 0)
        memcpy(memory, elements, size);
    return made;
}

/* A tuple of `count` objects; takes over the references, any of which may be NULL with an exception. */
static PyObject *pack(Py_ssize_t count, ...)
{
    PyObject *made = PyTuple_New(count);
    va_list items;
    va_start(items, count);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *item = va_arg(items, PyObject *);
        if (item == NULL)
            Py_CLEAR(made);
        else if (made == NULL)
            Py_DECREF(item);
        else
            PyTuple_SetItem(made, k, item);
    }
    va_end(items);
    return made;
}

/* What a class of the module makes of a tuple of items, which is taken over and may be NULL. */
static PyObject *named(PyObject *module, const char *class, PyObject *items)
{
    PyObject *found = items == NULL ? NULL : PyObject_GetAttrString(module, class);
    PyObject *made = found == NULL ? NULL : PyObject_CallObject(found, items);
    Py_XDECREF(found);
    Py_XDECREF(items);
    return made;
}

/* Give the module a class of named tuples; `fields` has spaces between the names. */
static int add_named(PyObject *module, const char *class, const char *fields)
{
    PyObject *collections = PyImport_ImportModule("collections");
    PyObject *made = collections == NULL ? NULL : PyObject_CallMethod(collections, "namedtuple", "ss", class, fields);
    PyObject *name = made == NULL ? NULL : PyModule_GetNameObject(module);
    int failed = name == NULL || PyObject_SetAttrString(made, "__module__", name) != 0 ||
                 PyModule_AddObjectRef(module, class, made) != 0;
    Py_XDECREF(name);
    Py_XDECREF(made);
    Py_XDECREF(collections);
    return failed ? -1 : 0;
}

/* Whether the exception says that arguments do not fit; it is cleared then. */
static bool is_misfit(void)
{
    bool misfit = PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                  PyErr_ExceptionMatches(PyExc_OverflowError);
    if (misfit)
        PyErr_Clear();
    return misfit;
}

/* Raise a class of `builtins` or of another module, which is imported if it is there, with a text. */
static void raise_error(const char *module, const char *class, const char *text)
{
    PyObject *owner = PyImport_ImportModule(module);
    PyObject *found = owner == NULL ? NULL : PyObject_GetAttrString(owner, class);
    if (found != NULL && PyExceptionClass_Check(found)) {
        PyErr_SetString(found, text);
    } else {
        PyErr_Clear();
        PyErr_Format(PyExc_RuntimeError, "%s: %s", class, text);
    }
    Py_XDECREF(found);
    Py_XDECREF(owner);
}

/* Fill the module's state; `names` are those of all parameters. */
static int prepare(State *state, const char *const *names, Py_ssize_t count)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL)
        return -1;
    state->ndarray = PyObject_GetAttrString(numpy, "ndarray");
    state->empty = PyObject_GetAttrString(numpy, "empty");
    state->booleans = PyObject_GetAttrString(numpy, "bool_");
    PyObject *floating = PyObject_GetAttrString(numpy, "floating");
    PyObject *whole = PyObject_GetAttrString(numpy, "integer");
    Py_DECREF(numpy);
    if (state->booleans != NULL && whole != NULL && floating != NULL) {
        state->integers = PyTuple_Pack(2, whole, state->booleans);
        state->floats = PyTuple_Pack(3, floating, whole, state->booleans);
    }
    Py_XDECREF(floating);
    Py_XDECREF(whole);
    state->names = PyTuple_New(count);
    for (Py_ssize_t k = 0; state->names != NULL && k < count; k++) {
        PyObject *name = PyUnicode_InternFromString(names[k]);
        if (name == NULL || PyTuple_SetItem(state->names, k, name) != 0)
            return -1;
    }
    return state->ndarray && state->empty && state->integers && state->floats && state->names ? 0 : -1;
}

static int traverse_state(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->ndarray);
    Py_VISIT(state->floats);
    Py_VISIT(state->integers);
    Py_VISIT(state->booleans);
    Py_VISIT(state->empty);
    Py_VISIT(state->names);
    return 0;
}

static int clear_state(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->ndarray);
    Py_CLEAR(state->floats);
    Py_CLEAR(state->integers);
    Py_CLEAR(state->booleans);
    Py_CLEAR(state->empty);
    Py_CLEAR(state->names);
    return 0;
}
