package serving_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/plugins/serving"
)

// canary holds characters that every encoding changes.
const canary = `Can"ary/7+<&>=é end`

func secrets() *serving.Redactor {
	return serving.NewRedactor(map[string]string{"MY_TOKEN": canary, "PIN": "4711", "KEY_FILE": "-----BEGIN-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n"})
}

// Every form in which a known value travels.
func TestKnownValues(t *testing.T) {
	quoted, err := json.Marshal(map[string]string{"a": canary})
	if err != nil {
		t.Fatal(err)
	}
	std, web := base64.StdEncoding, base64.RawURLEncoding
	for name, text := range map[string]string{
		"plain":            "value " + canary + " here",
		"json":             string(quoted),
		"json of Python":   `{"a": "Can\"ary/7+<&>=é end"}`,
		"query of Python":  "http://h/p?x=" + strings.ReplaceAll(url.QueryEscape(canary), "+", "%20"),
		"query":            "http://h/p?x=" + url.QueryEscape(canary),
		"path":             "http://h/" + url.PathEscape(canary),
		"base64":           std.EncodeToString([]byte(canary)),
		"base64 for URLs":  web.EncodeToString([]byte(canary)),
		"base64, second":   std.EncodeToString([]byte("u" + canary + "tail")),
		"base64, third":    std.EncodeToString([]byte("us:" + canary[:0] + canary)),
		"basic user":       std.EncodeToString([]byte("user:" + canary)),
		"hex":              hex.EncodeToString([]byte(canary)),
		"line of key file": "x AAAABBBBCCCC y",
	} {
		got := secrets().String(text)
		if got == text || strings.Contains(got, "anary") {
			t.Errorf("%s: %q stayed %q", name, text, got)
		}
		// The middle of an encoded value must be gone, too.
		for _, part := range []string{web.EncodeToString([]byte(canary))[6:16], hex.EncodeToString([]byte(canary))[6:16], "BBBBCC"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left in %q", name, part, got)
			}
		}
		if again := secrets().String(got); again != got {
			t.Errorf("%s: redacted twice: %q, then %q", name, got, again)
		}
	}
	if got := secrets().String("pin 4711, not 47110 or x4711; 4711 4711"); got != "pin [PIN], not 47110 or x4711; [PIN] [PIN]" {
		t.Errorf("short value: %q", got)
	}
}

func TestPatterns(t *testing.T) {
	const x = "[redacted]"
	for text, want := range map[string]string{
		"token hf_abcdefghijklmnopqrstuvwx rest":        "token " + x + " rest",
		"key sk-proj-abcdefghijklmnop_1":                "key " + x,
		"nvapi-abcdefghijklmnopqrstuvwxyz":              x,
		"Authorization: Bearer abc.def-ghi_jkl":         "Authorization: Bearer " + x,
		"authorization: basic dXNlcjpwYXNzd29yZA==":     "authorization: basic " + x,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.abcdefg": x,
		"--api-key canary-1 --port 8":                   "--api-key " + x + " --port 8",
		"--api-key=canary-1":                            "--api-key=" + x,
		"--admin-api-key=canary-1":                      "--admin-api-key=" + x,
		`["--api-key", "canary-1", "--port"]`:           `["--api-key", "` + x + `", "--port"]`,
		`{"api_key": "can\"ary", "n": 1}`:               `{"api_key": "` + x + `", "n": 1}`,
		`{'api_key': 'canary', 'max_num_seqs': 8}`:      `{'api_key': '` + x + `', 'max_num_seqs': 8}`,
		"ServerArgs(api_key='canary', tp_size=1)":       "ServerArgs(api_key='" + x + "', tp_size=1)",
		"HF_TOKEN=canary":                               "HF_TOKEN=" + x,
		"export NGC_API_KEY=canary; next":               "export NGC_API_KEY=" + x + "; next",
		"AWS_SECRET_ACCESS_KEY: canary":                 "AWS_SECRET_ACCESS_KEY: " + x,
		"https://user:pass@host/x":                      "https://" + x + "@host/x",
		"http://proxy_token@10.0.0.1:3128":              "http://" + x + "@10.0.0.1:3128",
		"http://h/p?access_token=canary&n=1":            "http://h/p?access_token=" + x + "&n=1",
		"X-Api-Key: canary":                             "X-Api-Key: " + x,
		"password=canary":                               "password=" + x,

		// What must stay: settings that sound alike, and values that tell nothing.
		"max_num_batched_tokens=8192 num_speculative_tokens=4":       "max_num_batched_tokens=8192 num_speculative_tokens=4",
		"--max-num-batched-tokens=8192 --max_num_tokens 8192":        "--max-num-batched-tokens=8192 --max_num_tokens 8192",
		"tokenizer='demo/m', tokenizer_mode=auto, api_key=None":      "tokenizer='demo/m', tokenizer_mode=auto, api_key=None",
		"TOKENIZERS_PARALLELISM=false VLLM_MAX_TOKENS=8":             "TOKENIZERS_PARALLELISM=false VLLM_MAX_TOKENS=8",
		"GPU KV cache size: 425,344 tokens":                          "GPU KV cache size: 425,344 tokens",
		"http://127.0.0.1:8000/v1 and a@b.example":                   "http://127.0.0.1:8000/v1 and a@b.example",
		"task-abcdefghijklmnopqrstuvwxyz disk-aaaaaaaaaaaaaaaaaaaaa": "task-abcdefghijklmnopqrstuvwxyz disk-aaaaaaaaaaaaaaaaaaaaa",
		"input_tokens: 5, secret of the cache, credentials are read": "input_tokens: 5, secret of the cache, credentials are read",
		`"eos_token": "<|im_end|>", "pad_token_id": 3`:               `"eos_token": "<|im_end|>", "pad_token_id": 3`,
	} {
		if diff := cmp.Diff(want, serving.Patterns.String(text)); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestArgvAndEnv(t *testing.T) {
	argv := []string{"vllm", "serve", "--api-key", "canary-1", "--hf-token", "canary-2", "--ssl-keyfile", "/k", "--tokenizer", "a/b", "--max-num-batched-tokens", "8", "x=" + canary}
	want := []string{"vllm", "serve", "--api-key", "[redacted]", "--hf-token", "[redacted]", "--ssl-keyfile", "[redacted]", "--tokenizer", "a/b", "--max-num-batched-tokens", "8", "x=[MY_TOKEN]"}
	if diff := cmp.Diff(want, secrets().Argv(argv)); diff != "" {
		t.Error(diff)
	}
	env := map[string]string{"HF_TOKEN": "x", "VLLM_API_KEY": "y", "AWS_ACCESS_KEY_ID": "z", "NGROK_AUTHTOKEN": "n", "HTTPS_PROXY": "http://u:p@h:1", "VLLM_USE_V1": "1", "TOKENIZERS_PARALLELISM": "false", "LATER": canary}
	wantEnv := map[string]string{"HF_TOKEN": "[redacted]", "VLLM_API_KEY": "[redacted]", "AWS_ACCESS_KEY_ID": "[redacted]", "NGROK_AUTHTOKEN": "[redacted]", "HTTPS_PROXY": "http://[redacted]@h:1", "VLLM_USE_V1": "1", "TOKENIZERS_PARALLELISM": "false", "LATER": "[MY_TOKEN]"}
	if diff := cmp.Diff(wantEnv, secrets().Env(env)); diff != "" {
		t.Error(diff)
	}
}

// A secret that is split over two writes at any place is found, and the text
// arrives complete.
func TestSplitWrites(t *testing.T) {
	line := "start " + canary + " --api-key=canary-9 hf_abcdefghijklmnopqrstuvwx\nnext\rbar 5%\rlast " + canary
	want := secrets().String(line)
	for at := range line {
		var out bytes.Buffer
		w := secrets().Writer(&out)
		for _, part := range []string{line[:at], line[at:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Fatalf("split at %d:\n%s", at, diff)
		}
	}
}

// After a pause an unended line goes through, but never the first part of a value.
func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	w := secrets().Writer(&out)
	for _, step := range []struct{ text, want string }{
		{"loading 64%", "loading 64%"}, {" " + canary[:9], "loading 64% "}, {"", "loading 64% "}, {canary[9:] + " 4", "loading 64% [MY_TOKEN] "}, {"8", "loading 64% [MY_TOKEN] 48"},
	} {
		fmt.Fprint(w, step.text)
		if err := w.Quiet(); err != nil || out.String() != step.want {
			t.Errorf("after %q: %q, %v; want %q", step.text, out.String(), err, step.want)
		}
	}
}

// A line that is too long to be kept back is let out in parts without cutting a
// secret; one that ended is let out at once.
func TestLongLines(t *testing.T) {
	for _, between := range []string{"x", "word "} {
		var text strings.Builder
		for i := 0; text.Len() < 400<<10; i++ {
			text.WriteString(strings.Repeat(between, 900+i%7))
			text.WriteString(canary)
		}
		var out bytes.Buffer
		w := secrets().Writer(&out)
		in := text.String()
		for len(in) > 0 {
			n := min(len(in), 1000)
			if _, err := w.Write([]byte(in[:n])); err != nil {
				t.Fatal(err)
			}
			in = in[n:]
		}
		if out.Len() == 0 {
			t.Error("nothing was let out before the end")
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != secrets().String(text.String()) {
			t.Errorf("%q: a secret was cut, or text was lost: %d of %d bytes", between, out.Len(), text.Len())
		}
	}
	var out bytes.Buffer
	fmt.Fprint(secrets().Writer(&out), "ready\npart")
	if out.String() != "ready\n" {
		t.Errorf("an ended line is not there: %q", out.String())
	}
}

// Redaction never panics, comes to rest after one pass, and never lets the known
// value through; in two writes it gives what it gives in one.
func FuzzRedact(f *testing.F) {
	f.Add("--api-key x "+canary, 5)
	f.Add(`{"api_key":"a\"b","token":"[redacted]"}`, 3)
	f.Add("https://a:b@c@d hf_aaaaaaaaaaaaaaaaaaaaaaaaa\n\r\n", 9)
	f.Add("api_key=--api-key=--api-key x 4711 4711", 1)
	f.Fuzz(func(t *testing.T, text string, at int) {
		r := secrets()
		got := r.String(text)
		if strings.Contains(got, canary) {
			t.Errorf("%q keeps the secret: %q", text, got)
		}
		at = max(0, min(at, len(text)))
		var out bytes.Buffer
		w := r.Writer(&out)
		fmt.Fprint(w, text[:at])
		fmt.Fprint(w, text[at:])
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), canary) {
			t.Errorf("%q keeps the secret when split: %q", text, out.String())
		}
	})
}
