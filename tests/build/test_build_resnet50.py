"""ResNet-50 in plain torch: every weight has its place, in the network it was trained in."""

import math

import numpy as np
import pytest
import torch
from cifar10 import extractor
from fetch import CIFAR10, RESNET50, default_cache
from resnet50 import (
    from_keras,
    from_torchvision,
    keras_arrays,
    normalise,
    parameter_count,
)
from torch.nn import functional as F

from edgelaw import data


def torchvision_shapes():
    """Names and shapes of torchvision's resnet50 state dict, written down from its definition."""
    shapes = {"conv1.weight": (64, 3, 7, 7)}

    def norm(name, width):
        for kind in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{kind}"] = (width,)
        shapes[f"{name}.num_batches_tracked"] = ()

    norm("bn1", 64)
    channels = 64
    for stage, (width, depth) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], start=1):
        for block in range(depth):
            prefix = f"layer{stage}.{block}"
            for i, shape in enumerate(
                [(width, channels, 1, 1), (width, width, 3, 3), (4 * width, width, 1, 1)], start=1
            ):
                shapes[f"{prefix}.conv{i}.weight"] = shape
                norm(f"{prefix}.bn{i}", shape[0])
            if block == 0:
                shapes[f"{prefix}.downsample.0.weight"] = (4 * width, channels, 1, 1)
                norm(f"{prefix}.downsample.1", 4 * width)
            channels = 4 * width
    return shapes | {"fc.weight": (1000, 2048), "fc.bias": (1000,)}


@pytest.fixture(scope="module", autouse=True)
def quick_networks():
    """Every weight is loaded, so no network of these tests has to draw 25 million random numbers first."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("kaiming_uniform_", "uniform_"):
            patch.setattr(torch.nn.init, name, lambda tensor, *options, **more: tensor)
        yield


@pytest.fixture(scope="module")
def state():
    """Random weights of the right shapes, scaled so that activations neither vanish nor explode."""
    generator = torch.Generator().manual_seed(0)
    state = {}
    for name, shape in torchvision_shapes().items():
        if name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(7)
        elif name.endswith("running_var"):
            state[name] = 0.5 + torch.rand(shape, generator=generator)
        elif len(shape) == 1:
            offset = 0.5 if name.endswith("weight") else 0.0
            state[name] = offset + 0.2 * torch.randn(shape, generator=generator)
        else:
            state[name] = torch.randn(shape, generator=generator) * math.sqrt(2 / math.prod(shape[1:]))
    return state


def reference(state, x, epsilon, stride_on_3x3=True, bias=None):
    """ResNet-50 by function calls alone, from a state dict with torchvision's names."""

    def layer(x, conv, norm, stride=1, padding=0):
        b = None if bias is None else bias[conv]
        x = F.conv2d(x, state[f"{conv}.weight"], b, stride=stride, padding=padding)
        mean, var = state[f"{norm}.running_mean"], state[f"{norm}.running_var"]
        x = (x - mean[:, None, None]) / torch.sqrt(var[:, None, None] + epsilon)
        return x * state[f"{norm}.weight"][:, None, None] + state[f"{norm}.bias"][:, None, None]

    x = F.max_pool2d(layer(x, "conv1", "bn1", 2, 3).clamp(min=0), 3, 2, 1)
    for stage, depth in enumerate([3, 4, 6, 3], start=1):
        for block in range(depth):
            p = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            first, second = (1, stride) if stride_on_3x3 else (stride, 1)
            shortcut = layer(x, f"{p}.downsample.0", f"{p}.downsample.1", stride) if block == 0 else x
            x = layer(x, f"{p}.conv1", f"{p}.bn1", first).clamp(min=0)
            x = layer(x, f"{p}.conv2", f"{p}.bn2", second, 1).clamp(min=0)
            x = (layer(x, f"{p}.conv3", f"{p}.bn3") + shortcut).clamp(min=0)
    return x.flatten(2).mean(2)


def keras_layer(name):
    """Keras's layer names, by a table of its own: stage 2 to 5, block a to f, branch 1 or 2a to 2c."""
    special = {"conv1": "conv1", "bn1": "bn_conv1", "fc": "fc1000"}
    if name in special:
        return special[name]
    stage, block, rest = name[len("layer")], name.split(".")[1], name.split(".", 2)[2]
    branch = {
        "conv1": "res{}_branch2a",
        "bn1": "bn{}_branch2a",
        "conv2": "res{}_branch2b",
        "bn2": "bn{}_branch2b",
        "conv3": "res{}_branch2c",
        "bn3": "bn{}_branch2c",
        "downsample.0": "res{}_branch1",
        "downsample.1": "bn{}_branch1",
    }[rest]
    return branch.format(f"{int(stage) + 1}{chr(ord('a') + int(block))}")


@pytest.fixture(scope="module")
def keras(state):
    """The same random weights as Keras stores them, with random biases in the convolutions."""
    rng = np.random.default_rng(1)
    kinds = {"weight": "gamma", "bias": "beta"}
    kinds |= {"running_mean": "moving_mean", "running_var": "moving_variance"}
    arrays, biases = {}, {}
    for name, tensor in state.items():
        module, kind = name.rsplit(".", 1)
        layer, array = keras_layer(module), tensor.numpy()
        if module == "fc":
            arrays[f"{layer}/{'kernel' if kind == 'weight' else 'bias'}"] = array.T
        elif array.ndim == 4:
            arrays[f"{layer}/kernel"] = array.transpose(2, 3, 1, 0)
            arrays[f"{layer}/bias"] = rng.normal(0, 0.1, len(array)).astype(np.float32)
            biases[module] = torch.from_numpy(arrays[f"{layer}/bias"])
        elif kind in kinds:
            arrays[f"{layer}/{kinds[kind]}"] = array
    return arrays, biases


def test_torchvision_weights_give_what_torchvisions_network_gives(state):
    x = torch.randn(2, 3, 64, 48, generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        features = from_torchvision(state)(x)
        expected = reference(state, x, 1e-5)
        elsewhere = reference(state, x, 1e-5, stride_on_3x3=False)
    assert features.shape == (2, 2048)
    assert expected.std() > 1e-3
    torch.testing.assert_close(features, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))
    assert (features - elsewhere).abs().max() > 0.01 * expected.abs().max()  # where the stride sits matters


def test_keras_weights_give_what_keras_network_gives(state, keras):
    arrays, biases = keras
    assert len(arrays) == 320
    x = torch.randn(2, 3, 64, 48, generator=torch.Generator().manual_seed(4))
    with torch.inference_mode():
        features = from_keras(arrays)(x)
        expected = reference(state, x, 1.001e-5, stride_on_3x3=False, bias=biases)
    torch.testing.assert_close(features, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))


def test_weights_of_another_network_are_refused_in_one_sentence(state, keras):
    missing = {k: v for k, v in state.items() if k != "layer3.5.conv2.weight"}
    with pytest.raises(ValueError, match="not that of torchvision's resnet50") as excinfo:
        from_torchvision(missing)
    assert "\n" not in str(excinfo.value)
    with pytest.raises(ValueError, match="not that of torchvision's resnet50"):
        from_torchvision(state | {"fc.weight": torch.zeros(10, 2048)})
    arrays, _ = keras
    with pytest.raises(ValueError, match="no array 'res5c_branch2c/kernel'"):
        from_keras({k: v for k, v in arrays.items() if k != "res5c_branch2c/kernel"})
    with pytest.raises(ValueError, match="'conv1/bias' has shape"):
        from_keras(arrays | {"conv1/bias": np.zeros(3, np.float32)})
    with pytest.raises(ValueError, match="arrays a ResNet-50 does not: res6a_branch1/kernel"):
        from_keras(arrays | {"res6a_branch1/kernel": np.zeros(3, np.float32)})


def test_images_are_normalised_as_each_family_of_weights_wants():
    image = np.zeros((1, 32, 32, 3), np.uint8)
    image[...] = (255, 100, 0)  # a constant image stays constant under resizing
    caffe = normalise(image, "keras")
    assert caffe.shape == (1, 3, 224, 224)
    np.testing.assert_allclose(caffe[0, :, 0, 0], [0 - 103.939, 100 - 116.779, 255 - 123.68], rtol=1e-5)
    torchvision = normalise(image, "torchvision")[0, :, 100, 100]
    expected = [(1 - 0.485) / 0.229, (100 / 255 - 0.456) / 0.224, (0 - 0.406) / 0.225]
    np.testing.assert_allclose(torchvision, expected, rtol=1e-5)


def test_shards_are_cut_into_arrays_by_the_manifest():
    manifest = b"""{"weightsManifest": [{"paths": ["a", "b"], "weights": [
        {"name": "x", "shape": [2, 3], "dtype": "float32"},
        {"name": "y", "shape": [], "dtype": "float32"}]}]}"""
    blob = np.arange(7, dtype="<f4").tobytes()
    arrays = keras_arrays(manifest, {"a": blob[:10], "b": blob[10:]}.get)
    np.testing.assert_array_equal(arrays["x"], [[0, 1, 2], [3, 4, 5]])
    assert arrays["y"] == 6
    with pytest.raises(ValueError, match="32 bytes where the manifest announces 28"):
        keras_arrays(manifest, {"a": blob, "b": b"1234"}.get)
    quantised = manifest.replace(b'3], "dtype": "float32"', b'3], "dtype": "uint8"')
    with pytest.raises(ValueError, match="'x' is not plain float32"):
        keras_arrays(quantised, {"a": blob, "b": b""}.get)


@pytest.mark.skipif(
    not all((default_cache() / package.file).exists() for package in (CIFAR10, RESNET50)),
    reason="needs the two packages that data/build/cifar10.py downloads",
)
def test_the_real_network_gives_the_shipped_features_again_in_another_batch_size():
    import cifar10

    shipped = data.cifar10()
    images, labels, _ = cifar10.chosen_images(default_cache() / CIFAR10.file, 2500, shipped.card["seed"])
    np.testing.assert_array_equal(labels, shipped.labels)
    model, family, _ = cifar10.load_model("keras", default_cache())
    assert parameter_count(model) == 25_636_712
    features = extractor(model, family, images, "cpu")(slice(1001, 1004))
    np.testing.assert_allclose(features, shipped.features[1001:1004], rtol=2e-3, atol=2e-3)
