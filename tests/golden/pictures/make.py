"""Golden pictures: small files of Pillow 13.0, what it reads from them, and what its `resize` gives.

    python make.py     writes png.safetensors, jpeg.safetensors, resize.safetensors and the pictures beside this file
"""
import os
import numpy as np, torch
from PIL import Image, ImageOps
from safetensors.torch import save_file

P = os.path.dirname(os.path.abspath(__file__)) + "/"
rng = np.random.default_rng(5)
source = rng.integers(0, 256, (19, 26, 3), dtype=np.uint8)
source[4:9, 6:20], source[10:15, 3:9] = 255, 0
resized = {"source": torch.tensor(source)}
for kernel in (0, 1, 2, 3, 4):  # nearest, Lanczos, bilinear, bicubic, box
    for w, h in ((8, 8), (13, 31), (40, 7)):
        resized[f"{kernel}.{w}x{h}"] = torch.tensor(np.array(Image.fromarray(source).resize((w, h), kernel)))
save_file(resized, P + "resize.safetensors")

y, x = np.mgrid[0:24, 0:32]
gradient = Image.fromarray(np.stack([x * 8, y * 10, (x + y) * 4], -1).astype(np.uint8))
exif = gradient.getexif()
exif[0x0112] = 6
gradient.save(P + "gradient.jpg", quality=92, subsampling=0)
gradient.save(P + "turned.jpg", quality=92, subsampling=0, exif=exif)
save_file({"gradient": torch.tensor(np.array(Image.open(P + "gradient.jpg").convert("RGB"))),
           "turned": torch.tensor(np.array(ImageOps.exif_transpose(Image.open(P + "turned.jpg")).convert("RGB")))}, P + "jpeg.safetensors")

small = gradient.resize((13, 9))
gray = small.convert("L")
few = lambda colors: small.convert("P", palette=Image.ADAPTIVE, colors=colors)
kinds = {"rgb": (small, {}), "gray": (gray, {}), "palette": (few(20), {}), "two-bits": (few(4), dict(bits=2)), "one-bit": (small.convert("1"), {}),
         "gray-alpha": (Image.merge("LA", (gray, gray.rotate(180))), {}), "rgba": (Image.merge("RGBA", (*small.split(), gray.rotate(180))), {}),
         "clear": (few(6), dict(transparency=2))}
read = {}
for name, (image, options) in kinds.items():
    image.save(f"{P}{name}.png", **options)
    read[name] = torch.tensor(np.array(Image.open(f"{P}{name}.png").convert("RGBA")))
save_file(read, P + "png.safetensors")
