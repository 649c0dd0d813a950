"""What the plugin makes of configurations and logs, without a server."""

import os
import tempfile
import unittest

from sweepbook_engine_llamacpp import engine_pb2 as pb
from sweepbook_engine_llamacpp.engine import Engine
from sweepbook_engine_llamacpp.errors import Invalid, NotFound


def number(n):
    return pb.Value(number=n)


def ask(knobs=None, model="org/model", origin=None, **further):
    config = pb.Config(engine="llamacpp", model=model, knobs=knobs or {}, command_known=True)
    return pb.PlanRequest(config=config, origin=origin or pb.Origin(), host="127.0.0.1", port=21000, **further)


def command(request):
    [process] = Engine().plan(request).plan.processes
    return " ".join(process.argv)


class Plan(unittest.TestCase):
    def test_repository(self):
        self.assertEqual(command(ask()), "llama-server --hf-repo org/model --alias org/model --host 127.0.0.1 --port 21000")

    def test_file(self):
        got = command(ask(model="/data/m.gguf", origin=pb.Origin(venv="/v")))
        self.assertEqual(got, "/v/bin/llama-server --model /data/m.gguf --alias /data/m.gguf --host 127.0.0.1 --port 21000")

    def test_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "mmproj-m.gguf", "README.md"):
                open(os.path.join(folder, name), "w").close()
            self.assertIn("--model %s/m-00001-of-00002.gguf --alias org/model " % folder, command(ask(model_path=folder)))
            open(os.path.join(folder, "other.gguf"), "w").close()
            with self.assertRaisesRegex(Invalid, "want one GGUF file .*, other.gguf"):
                command(ask(model_path=folder))

    def test_knobs(self):
        given = {
            "zzz": pb.Value(boolean=False), "poll": number(0), "numa": pb.Value(text="isolate"), "cache_type_k": pb.Value(text="q8_0"),
            "max_num_seqs": number(4), "cont_batching": pb.Value(boolean=False), "cache_prompt": pb.Value(boolean=True), "mlock": pb.Value(boolean=True),
        }
        want = " --parallel 4 --cache-type-k q8_0 --no-cont-batching --cache-prompt --mlock --numa isolate --poll 0 --no-zzz"
        self.assertTrue(command(ask(given)).endswith("--port 21000" + want), command(ask(given)))

    def test_refused(self):
        for name, value, said in (
            ("max_num_seqs", number(0), 'knob "max_num_seqs": want a whole number of at least 1, got 0'),
            ("max_num_seqs", number(1.5), "got 1.5"),
            ("max_num_seqs", pb.Value(text="4"), "got '4'"),
            ("threads", pb.Value(special=pb.SPECIAL_UNLIMITED), "got SPECIAL_UNLIMITED"),
            ("threads", pb.Value(), "got nothing"),
            ("flash_attn", pb.Value(boolean=True), "want one of on, off, auto, got True"),
            ("cache_prompt", number(1), "want true or false, got 1"),
            ("port", number(1), 'knob "port": Sweepbook gives it'),
            ("parallel", number(1), "its name is max_num_seqs here"),
            ("api_key", pb.Value(text="s3cret"), "a secret is no setting"),
            ("rope_scale", pb.Value(special=pb.SPECIAL_UNSET), "SPECIAL_UNSET cannot be written as a flag"),
        ):
            with self.subTest(name=name, said=said), self.assertRaises(Invalid) as refused:
                command(ask({name: value}))
            self.assertIn(said, str(refused.exception))
            self.assertNotIn("s3cret", str(refused.exception))
        with self.assertRaisesRegex(Invalid, "not image: or url:"):
            command(ask(origin=pb.Origin(image="x")))


class Elsewhere(unittest.TestCase):
    def test_not_installed(self):
        with self.assertRaisesRegex(NotFound, "nowhere/llama-server is not here: build llama-server"):
            Engine().probe(pb.ProbeRequest(origin=pb.Origin(cmd="/nowhere/llama-server")))

    def test_prepare(self):
        request = ask(model="/nowhere/m.gguf", origin=pb.Origin(cmd="/nowhere/llama-server"))
        needs = Engine().prepare(pb.PrepareRequest(request=request, plan=Engine().plan(request).plan)).needs
        self.assertEqual([(n.kind, n.found, bool(n.problem)) for n in needs], [("engine", "", True), ("model", "", True)])

    def test_logs(self):
        # As llama-server printed them, each with what follows from it.
        for failure, log in (
            ("model_not_found", "E gguf_init_from_file: failed to open GGUF file '/m.gguf' (No such file or directory)\nE llama_model_load: error loading model: x\n"),
            ("unsupported", "E llama_init_from_model: quantized V cache requires flash_attn to be enabled\nE srv    load_model: failed to create_context with model '/m'\n"),
            ("oom_kv", "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n"),
            ("port_in_use", "E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 21000\n"),
            ("bad_argument", "error: invalid argument: --zzz\n"),
            ("unknown", "I srv init: loading model\n\xff\n"),
            ("unknown", ""),
        ):
            got = Engine().diagnose(pb.DiagnoseRequest(log_tail=log.encode("latin-1")))
            self.assertEqual(got.failure_class, failure)
            self.assertEqual(got.line, log.split("\n")[0].strip() if failure != "unknown" else "")


if __name__ == "__main__":
    unittest.main()
