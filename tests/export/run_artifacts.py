"""Runs exported artifacts where neither this package nor its source is found.

Called as `python run_artifacts.py RUNTIME JOBS RESULTS`. Jobs are pickled
`(path, feeds)`, with feeds a list of dictionaries from the names of the inputs
to arrays; the results are one dictionary of outputs for each of the feeds.
"""

import pickle
import sys

# Importing either fails from here on.
sys.modules["keras_zigzag"] = None


def saved_model(path):
    import tensorflow as tf

    signature = tf.saved_model.load(path).signatures["serving_default"]
    return lambda feed: {
        name: output.numpy()
        for name, output in signature(
            **{name: tf.constant(value) for name, value in feed.items()}
        ).items()
    }


def tfsm_layer(path):
    import keras

    layer = keras.layers.TFSMLayer(path, call_endpoint="serve")

    def run(feed):
        inputs = feed if len(feed) > 1 else next(iter(feed.values()))
        return {name: value.numpy() for name, value in layer(inputs).items()}

    return run


def onnx(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return lambda feed: dict(zip(names, session.run(names, feed), strict=True))


def litert(path):
    from ai_edge_litert.interpreter import Interpreter

    def run(feed):
        interpreter = Interpreter(path)
        # The runner resizes the inputs to what it is given.
        return interpreter.get_signature_runner("serving_default")(**feed)

    return run


def litert_by_index(path):
    from ai_edge_litert.interpreter import Interpreter

    def run(feed):
        # An interpreter cannot be resized while it has a runner.
        signature = Interpreter(path).get_signature_runner()
        interpreter = Interpreter(path)
        for name, details in signature.get_input_details().items():
            index, value = details["index"], feed[name]
            interpreter.resize_tensor_input(index, value.shape)
        interpreter.allocate_tensors()
        for name, details in signature.get_input_details().items():
            interpreter.set_tensor(details["index"], feed[name])
        interpreter.invoke()
        return {
            name: interpreter.get_tensor(details["index"])
            for name, details in signature.get_output_details().items()
        }

    return run


def openvino(path):
    import openvino

    model = openvino.Core().compile_model(
        path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )

    def run(feed):
        results = model(feed)
        return {
            output.get_any_name(): results[output] for output in model.outputs
        }

    return run


def torch(path):
    from torch import export, from_numpy

    module = export.load(path).module()

    def run(feed):
        inputs = {name: from_numpy(value) for name, value in feed.items()}
        try:
            outputs = module(inputs)
        except ValueError:
            # The program takes the structure that the model takes.
            inputs = list(inputs.values())
            outputs = module(inputs if len(inputs) > 1 else inputs[0])
        return {name: value.numpy() for name, value in outputs.items()}

    return run


RUNTIMES = {
    function.__name__: function
    for function in (
        saved_model,
        tfsm_layer,
        onnx,
        litert,
        litert_by_index,
        openvino,
        torch,
    )
}


def main(runtime, jobs_path, results_path):
    if runtime != "tfsm_layer":
        sys.modules["keras"] = None
    with open(jobs_path, "rb") as file:
        jobs = pickle.load(file)
    results = []
    for path, feeds in jobs:
        run = RUNTIMES[runtime](path)
        results.append([run(feed) for feed in feeds])
    with open(results_path, "wb") as file:
        pickle.dump(results, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
