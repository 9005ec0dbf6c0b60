"""Wrong answers to the exercises of lesson 26."""

MISTAKES = {
    "ex1": [
        "def read(body):\n    return np.array(json.loads(body)['images'], np.float32)",
        "def read(body):\n"
        "    try:\n"
        "        images = np.array(json.loads(body)['images'], np.float32)\n"
        "    except Exception as e:\n"
        "        raise ValueError(str(e))\n"
        "    if images.ndim != 2 or images.shape[1] != 64:\n"
        "        raise ValueError('shape')\n"
        "    return images",
        "def read(body):\n    raise ValueError('no')",
    ],
    "ex2": [
        "def newest(folder):\n    return max(int(p.name) for p in pathlib.Path(folder).iterdir())",
        "def newest(folder):\n"
        "    names = [p.name for p in pathlib.Path(folder).iterdir() if p.name.isdecimal()]\n"
        "    return int(max(names)) if names else None",
        "def newest(folder):\n"
        "    names = [p.parent.name for p in pathlib.Path(folder).glob('*/saved_model.pb')]\n"
        "    names = [n for n in names if n.isdecimal()]\n"
        "    return int(max(names)) if names else None",
    ],
    "ex3": [
        "def go(num_waiting, oldest_ms):\n    return num_waiting >= 32",
        "def go(num_waiting, oldest_ms):\n    return oldest_ms > 20",
        "def go(num_waiting, oldest_ms):\n    return False",
    ],
}
