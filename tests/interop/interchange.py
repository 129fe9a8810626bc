"""Arrays of Refrain for the scripts here: the library of interchange.cpp, with DLPack's protocol."""

import ctypes

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_VERSIONED = b"dltensor_versioned"
_UNVERSIONED = b"dltensor"
# Capsules refer to their names.
_USED = {_VERSIONED: b"used_dltensor_versioned", _UNVERSIONED: b"used_dltensor"}

_CPU, _CUDA = 1, 2


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int
        for name, result, arguments in [
            ("copy_npy", number, [ctypes.c_char_p, ctypes.c_char_p]),
            ("array_from_dlpack", pointer, [pointer, number, ctypes.c_size_t]),
            ("array_to_dlpack", pointer, [pointer, number, ctypes.c_size_t]),
            ("array_double_plus_one", pointer, [pointer]),
            ("array_transpose", pointer, [pointer]),
            ("array_add_one", number, [pointer]),
            ("array_is_cuda", number, [pointer]),
            ("array_delete", None, [pointer]),
            ("synchronize_device", number, [number]),
            ("live_bytes", ctypes.c_int64, [number]),
        ]:
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def from_dlpack(self, producer, stream=None, **keywords):
        """An array of the producer's memory; `stream` as in the protocol, on which it has its work then."""
        if producer.__dlpack_device__()[0] == _CUDA:
            keywords["stream"] = stream
        capsule = producer.__dlpack__(**keywords)
        name = _api.PyCapsule_GetName(capsule)
        tensor = _api.PyCapsule_GetPointer(capsule, name)
        array = self.c.array_from_dlpack(tensor, name == _VERSIONED, stream or 0)
        if not array:
            raise RuntimeError("not taken")
        # Taken over: the capsule may not give it back.
        _api.PyCapsule_SetName(capsule, _USED[name])
        return Array(self, array)


class Array:
    def __init__(self, library, pointer):
        assert pointer, "the library failed"
        self._library, self._pointer = library, pointer

    def __del__(self):
        self._library.c.array_delete(self._pointer)

    def double_plus_one(self):
        return Array(self._library, self._library.c.array_double_plus_one(self._pointer))

    def transpose(self):
        return Array(self._library, self._library.c.array_transpose(self._pointer))

    def add_one(self):
        assert self._library.c.array_add_one(self._pointer), "the library failed"

    def __dlpack_device__(self):
        return (_CUDA if self._library.c.array_is_cuda(self._pointer) else _CPU, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        is_versioned = max_version is not None and max_version[0] >= 1
        # None, of a GPU, is the legacy stream.
        if self.__dlpack_device__()[0] == _CUDA and stream is None:
            stream = 1
        tensor = self._library.c.array_to_dlpack(self._pointer, is_versioned, stream or 0)
        if not tensor:
            raise BufferError("not handed over")
        return _api.PyCapsule_New(tensor, _VERSIONED if is_versioned else _UNVERSIONED, None)
