"""ResNet-50 as a plain torch module, with Keras's or torchvision's ImageNet weights.

The module's parameter names are torchvision's. The two families of weights differ in four ways, and only in
these:

=====================  =====================================  ======================================
                       Keras (converted from Caffe)           torchvision
=====================  =====================================  ======================================
convolutions           with a bias                            without (the bias stays zero here)
stride of a stage      first 1x1 convolution of its block 0   the 3x3 convolution of its block 0
batch-norm epsilon     1.001e-5                               1e-5
input                  BGR in 0..255 minus the channel mean   RGB in 0..1, mean and std normalised
=====================  =====================================  ======================================
"""

import json
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))
KERAS_EPSILON = 1.001e-5  # the package's model.json says 0.001; the data card tells why that is not used
TORCHVISION_EPSILON = 1e-5


class Bottleneck(nn.Module):
    """Three convolutions (1x1, 3x3, 1x1) around a shortcut."""

    def __init__(self, channels_in, width, stride, project, stride_on_3x3, epsilon):
        super().__init__()
        first, second = (1, stride) if stride_on_3x3 else (stride, 1)
        self.conv1 = nn.Conv2d(channels_in, width, 1, stride=first)
        self.bn1 = nn.BatchNorm2d(width, eps=epsilon)
        self.conv2 = nn.Conv2d(width, width, 3, stride=second, padding=1)
        self.bn2 = nn.BatchNorm2d(width, eps=epsilon)
        self.conv3 = nn.Conv2d(width, 4 * width, 1)
        self.bn3 = nn.BatchNorm2d(4 * width, eps=epsilon)
        self.downsample = None
        if project:
            convolution = nn.Conv2d(channels_in, 4 * width, 1, stride=stride)
            self.downsample = nn.Sequential(convolution, nn.BatchNorm2d(4 * width, eps=epsilon))

    def forward(self, x):
        """The block's output, after the last rectifier."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet50(nn.Module):
    """The network up to its 2048 average-pooled features; `fc` is kept only so that every weight has a place.

    Parameters
    ----------
    stride_on_3x3 : bool
        Where a stage's stride sits: True for torchvision's weights, False for Keras's.
    epsilon : float
        The batch norms' epsilon.
    """

    def __init__(self, stride_on_3x3, epsilon):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.bn1 = nn.BatchNorm2d(64, eps=epsilon)
        channels = 64
        for number, (width, depth) in enumerate(STAGES, start=1):
            blocks = []
            for block in range(depth):
                stride = 2 if block == 0 and number > 1 else 1
                blocks.append(Bottleneck(channels, width, stride, block == 0, stride_on_3x3, epsilon))
                channels = 4 * width
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, 1000)

    def forward(self, x):
        """Average-pooled features, shape (batch, 2048), of images already normalised for these weights."""
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean(dim=(2, 3))


def parameter_count(model):
    """How many numbers it holds, as Keras counts: weights, biases, batch-norm means and variances."""
    tensors = [
        *model.parameters(),
        *(b for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")),
    ]
    return sum(tensor.numel() for tensor in tensors)


def _keras_name(name):
    """Keras's layer for a module of ours: layer3.0.conv2 is res4a_branch2b, its batch norm bn4a_branch2b."""
    if name in ("conv1", "bn1"):
        return {"conv1": "conv1", "bn1": "bn_conv1"}[name]
    if name == "fc":
        return "fc1000"
    layer, block, module, *index = name.split(".")
    stage = int(layer.removeprefix("layer")) + 1
    if module == "downsample":
        kind, branch = ("res", "bn")[int(index[0])], "1"
    else:
        kind, branch = ("res" if module[:-1] == "conv" else "bn"), "2" + "abc"[int(module[-1]) - 1]
    return f"{kind}{stage}{'abcdef'[int(block)]}_branch{branch}"


def from_keras(arrays):
    """The network with Keras's weights, from a dictionary of arrays named as Keras names them."""
    model = ResNet50(stride_on_3x3=False, epsilon=KERAS_EPSILON)
    left = set(arrays)

    def take(layer, kind, into, transpose=()):
        name = f"{layer}/{kind}"
        if name not in arrays:
            raise ValueError(
                f"The Keras weights have no array {name!r}, so they are not those of a ResNet-50."
            )
        array = arrays[name].transpose(transpose) if transpose else arrays[name]
        if tuple(array.shape) != tuple(into.shape):
            raise ValueError(
                f"The Keras array {name!r} has shape {arrays[name].shape}, not that of a ResNet-50."
            )
        left.discard(name)
        with torch.no_grad():
            into.copy_(torch.from_numpy(np.array(array)))

    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            take(_keras_name(name), "kernel", module.weight, (3, 2, 0, 1))
            take(_keras_name(name), "bias", module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            layer = _keras_name(name)
            take(layer, "gamma", module.weight)
            take(layer, "beta", module.bias)
            take(layer, "moving_mean", module.running_mean)
            take(layer, "moving_variance", module.running_var)
        elif isinstance(module, nn.Linear):
            take(_keras_name(name), "kernel", module.weight, (1, 0))
            take(_keras_name(name), "bias", module.bias)
    if left:
        raise ValueError(
            f"The Keras weights have arrays a ResNet-50 does not: {', '.join(sorted(left)[:3])}."
        )
    return model.eval()


def from_torchvision(state):
    """The network with torchvision's weights, from the state dict of `torchvision.models.resnet50`.

    torchvision's convolutions have no bias: ours are set to zero, which is the same map.
    """
    model = ResNet50(stride_on_3x3=True, epsilon=TORCHVISION_EPSILON)
    filled = dict(state)
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            filled[f"{name}.bias"] = torch.zeros_like(module.bias)
        if isinstance(module, nn.BatchNorm2d):  # weights saved before torch 0.4.1 do not carry the counter
            filled.setdefault(f"{name}.num_batches_tracked", torch.tensor(0))
    try:
        model.load_state_dict(filled, strict=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"This state dict is not that of torchvision's resnet50: {reason}") from None
    return model.eval()


def keras_arrays(model_json, read_shard):
    """The arrays of a TensorFlow.js layers model.

    Parameters
    ----------
    model_json : bytes
        The model's ``model.json``, whose manifest lists the arrays in the order in which the shards hold
        them.
    read_shard : callable
        From a shard's name to its bytes.
    """
    arrays = {}
    for group in json.loads(model_json)["weightsManifest"]:
        blob = b"".join(read_shard(path) for path in group["paths"])
        offset = 0
        for entry in group["weights"]:
            if entry["dtype"] != "float32" or "quantization" in entry:
                raise ValueError(f"The array {entry['name']!r} is not plain float32.")
            size = math.prod(entry["shape"])
            flat = np.frombuffer(blob, dtype="<f4", count=size, offset=offset)
            arrays[entry["name"]] = flat.reshape(entry["shape"])
            offset += 4 * size
        if offset != len(blob):
            raise ValueError(f"The shards hold {len(blob)} bytes where the manifest announces {offset}.")
    return arrays


def normalise(images, family):
    """uint8 RGB images (batch, height, width, 3), resized to 224 x 224 and normalised for the weights.

    Bilinear resizing, no crop, no augmentation. `family` is "keras" or "torchvision".
    """
    x = torch.as_tensor(images).permute(0, 3, 1, 2).to(torch.float32)
    x = F.interpolate(x, size=(224, 224), mode="bilinear", align_corners=False)
    if family == "keras":
        return x.flip(1) - torch.tensor([103.939, 116.779, 123.68]).view(1, 3, 1, 1)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    return (x / 255 - mean) / std
