"""Makes the files of this folder and `expected.json`. Needs numpy, safetensors and ml_dtypes (versions: README.md)."""
import io, json, os, struct, zipfile
import ml_dtypes
import numpy as np
from numpy.lib import format as npf
from safetensors.numpy import save

here = os.path.dirname(os.path.abspath(__file__))
expected = {"read": {}, "refused": {}}

HEED = {"b1": "bool", "i1": "int8", "u1": "uint8", "i2": "int16", "u2": "uint16", "i4": "int32", "u4": "uint32",
        "i8": "int64", "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64"}
EXTRA = {"bfloat16": "bfloat16", "float8_e5m2": "float8_e5m2", "float8_e4m3fn": "float8_e4m3fn"}


def describe(a):
    """Shape, dtype, and the row-major little-endian bytes in hexadecimal."""
    name = EXTRA.get(a.dtype.name) or HEED[a.dtype.str[1:]]
    little = np.ascontiguousarray(a).reshape(a.shape)
    if a.dtype.byteorder == ">":
        little = little.byteswap()
    return {"dtype": name, "shape": list(a.shape), "bytes": little.tobytes().hex()}


def put(name, data):
    os.makedirs(os.path.dirname(os.path.join(here, name)), exist_ok=True)
    with open(os.path.join(here, name), "wb") as f:
        f.write(data)


def npy(array, version=None):
    f = io.BytesIO()
    npf.write_array(f, array, version=version, allow_pickle=True)
    return f.getvalue()


def good(name, data, tensors):
    put(name, data)
    expected["read"][name] = {key: describe(a) for key, a in tensors.items()}


def refused(name, data, code):
    put(name, data)
    expected["refused"][name] = code


def bits(kind, *values):
    return np.array(values, dtype="<u" + kind[1]).view("<" + kind)


samples = {}
for kind in HEED:
    a = (np.arange(6).reshape(2, 3) * 37 % 101 - (0 if kind[0] in "ub" else 40)).astype("<" + kind)
    samples[HEED[kind]] = a
    good(f"npy/{kind}.npy", npy(a), {"": a})
    if kind not in ("b1", "i1", "u1"):
        big = a.astype(">" + kind)
        good(f"npy/{kind}-big.npy", npy(big), {"": big})
good("npy/v2.npy", npy(samples["float32"], (2, 0)), {"": samples["float32"]})
good("npy/v3.npy", npy(samples["float32"], (3, 0)), {"": samples["float32"]})
cube = np.arange(24, dtype="<f4").reshape(2, 3, 4)
good("npy/fortran.npy", npy(np.asfortranarray(cube)), {"": cube})
good("npy/fortran-big-i8.npy", npy(np.asfortranarray(cube.astype(">i8"))), {"": cube.astype(">i8")})
good("npy/fortran-f2.npy", npy(np.asfortranarray(cube.astype("<f2"))), {"": cube.astype("<f2")})
for name, a in {"zero-d": np.array(2.5, "<f8"), "empty": np.zeros(0, "<f4"), "empty-axis": np.zeros((3, 0, 2), "<i4"),
                "one": np.ones(1, "<f4"), "five-axes": np.arange(32, dtype="<f4").reshape(2, 2, 2, 2, 2)}.items():
    good(f"npy/{name}.npy", npy(a), {"": a})
nans = {"f2": bits("f2", 0x7C01, 0xFE01, 0x7E00, 0x8000, 1), "f4": bits("f4", 0x7F800001, 0xFFC12345, 0x7FC00000, 0x80000000, 1),
        "f8": bits("f8", 0x7FF0000000000001, 0xFFF8123456789ABC, 0x7FF8000000000000, 1 << 63, 1)}
for kind, a in nans.items():
    good(f"npy/nan-{kind}.npy", npy(a), {"": a})
    big = a.byteswap().view(">" + kind)
    good(f"npy/nan-{kind}-big.npy", npy(big), {"": big})

refused("npy/object.npy", npy(np.array([None, {}], dtype=object)), "npy-object")
refused("npy/complex.npy", npy(np.ones(2, "<c8")), "npy-dtype")
refused("npy/structured.npy", npy(np.zeros(2, [("a", "<f4"), ("b", "<i4")])), "npy-dtype")
refused("npy/text.npy", npy(np.array(["a", "bc"])), "npy-dtype")
refused("npy/date.npy", npy(np.array(["2020-01-01"], "datetime64[D]")), "npy-dtype")
refused("npy/long-double.npy", npy(np.ones(2, np.longdouble)), "npy-dtype")

arrays = {**samples, "cube": cube, "scalar": np.array(7, "<i8"), "empty": np.zeros((0, 4), "<f4")}
f = io.BytesIO()
np.savez(f, **arrays)
good("npz/stored.npz", f.getvalue(), arrays)
compressible = {**arrays, "ramp": np.tile(np.arange(64, dtype="<f4"), 300)[:2000] * 0 + 1, "ä ü": np.ones(3, "<f4")}
f = io.BytesIO()
np.savez_compressed(f, **compressible)
good("npz/deflated.npz", f.getvalue(), compressible)
f = io.BytesIO()
np.savez(f)
good("npz/none.npz", f.getvalue(), {})


class Pipe(io.RawIOBase):
    """A stream that cannot seek, so that sizes follow the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, b):
        self.data += bytes(b)
        return len(b)


for method, label in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", method) as z:
        for key in ("float32", "int64"):
            z.writestr(zipfile.ZipInfo(key + ".npy"), npy(samples[key]), method)
    good(f"npz/streamed-{label}.npz", pipe.data, {key: samples[key] for key in ("float32", "int64")})
limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 40, 1
f = io.BytesIO()
np.savez(f, **{key: samples[key] for key in ("float32", "int64")})
zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits
good("npz/zip64.npz", f.getvalue(), {key: samples[key] for key in ("float32", "int64")})

f = io.BytesIO()
np.savez(f, a=np.array([None], dtype=object))
refused("npz/object.npz", f.getvalue(), "npy-object")
f = io.BytesIO()
with zipfile.ZipFile(f, "w", zipfile.ZIP_BZIP2) as z:
    z.writestr("a.npy", npy(samples["float32"]))
refused("npz/bzip2.npz", f.getvalue(), "zip-method")
f = io.BytesIO()
with zipfile.ZipFile(f, "w") as z:
    z.writestr("a.txt", "text")
refused("npz/text.npz", f.getvalue(), "npz-member")

tensors = {**samples, "bf16": np.array([[1.5, -2.0, np.nan]], ml_dtypes.bfloat16), "scalar": np.array(3.5, "<f4"),
           "e5m2": np.array([1, -2, 0.5], ml_dtypes.float8_e5m2), "e4m3": np.array([1, -2, 0.5], ml_dtypes.float8_e4m3fn),
           "empty": np.zeros((2, 0, 3), "<f4"), "nan": nans["f4"], 'quote " \\ tab\t ä 𝔸': np.ones(2, "<f8")}
good("safetensors/all.safetensors", save(tensors, {"format": "np"}), tensors)
good("safetensors/none.safetensors", save({}), {})
one = {"x": np.arange(6, dtype="<f4").reshape(3, 2)}
good("safetensors/one.safetensors", save(one), one)


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text)) + text + data


# A header that is not padded: every tensor is out of alignment.
odd = raw('{"a":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},"b":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}} ',
          b"\x05" + struct.pack("<2f", 1.25, -3))
good("safetensors/unaligned.safetensors", odd, {"a": np.array([1.25, -3], "<f4"), "b": np.array([5], "i1")})
refused("safetensors/complex.safetensors", raw('{"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}}', bytes(8)), "safetensors-dtype")
refused("safetensors/hole.safetensors", raw('{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', bytes(2)), "safetensors-hole")

with open(os.path.join(here, "expected.json"), "w") as f:
    json.dump(expected, f, indent=0, sort_keys=True, ensure_ascii=False)
    f.write("\n")
print(len(expected["read"]), "to read,", len(expected["refused"]), "to refuse; numpy", np.__version__)
