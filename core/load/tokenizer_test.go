package load_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// tokenCase is a text and what the reference encoder makes of it.
type tokenCase struct {
	Text string `json:"text"`
	IDs  []int  `json:"ids"`
}

func sameTokens(t *testing.T, tok *load.Tokenizer, cases []tokenCase) {
	t.Helper()
	bad := 0
	for _, c := range cases {
		got, err := tok.Encode(c.Text)
		if err != nil {
			t.Errorf("%q: %v", c.Text, err)
		} else if !cmp.Equal(append([]int{}, got...), append([]int{}, c.IDs...)) {
			if bad++; bad <= 5 {
				t.Errorf("%+q:\n got %v\nwant %v", c.Text, got, c.IDs)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d texts differ from the reference", bad, len(cases))
	}
}

func readJSON(t testing.TB, path string, to any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type object = map[string]any

// small reads the small tokenizer.json with changes laid over it; those of the
// model go into the model.
func small(t testing.TB, change object) string {
	t.Helper()
	var file object
	readJSON(t, filepath.Join("testdata", "tokenizer", "small.json"), &file)
	for key, v := range change {
		if key == "model" {
			maps.Copy(file["model"].(object), v.(object))
			continue
		}
		file[key] = v
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTokenizerFamilies holds the token ids of each family of models against
// those of the reference encoder.
func TestTokenizerFamilies(t *testing.T) {
	var want struct {
		Families map[string]struct {
			Change object
			Cases  []tokenCase
		}
	}
	readJSON(t, filepath.Join("testdata", "tokenizer", "expected.json"), &want)
	if len(want.Families) != 6 {
		t.Fatalf("%d families", len(want.Families))
	}
	for _, name := range slices.Sorted(maps.Keys(want.Families)) {
		t.Run(name, func(t *testing.T) {
			family := want.Families[name]
			if len(family.Cases) < 40 {
				t.Fatalf("%d cases", len(family.Cases))
			}
			tok, err := load.LoadTokenizer(small(t, family.Change))
			if err != nil {
				t.Fatal(err)
			}
			sameTokens(t, tok, family.Cases)
		})
	}
}

// TestTokenizerRefuses: what is not followed exactly is named, not guessed.
func TestTokenizerRefuses(t *testing.T) {
	split := func(pattern string) object {
		return object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated"},
			{"type": "ByteLevel", "use_regex": false}}}
	}
	token := func(key string, value any) []object {
		return []object{{"id": 5000, "content": "<|x|>", key: value}}
	}
	for _, tt := range []struct {
		name, want string
		change     object
	}{
		{"unigram", `model: type "Unigram"`, object{"model": object{"type": "Unigram"}}},
		{"byte fallback", "model: byte_fallback", object{"model": object{"byte_fallback": true}}},
		{"dropout", "model: dropout", object{"model": object{"dropout": 0.1}}},
		{"word ends", "model: marks at the ends", object{"model": object{"end_of_word_suffix": "</w>"}}},
		{"not byte level", "byte 0x00 is missing", object{"model": object{"vocab": object{"a": 0}, "merges": []any{}}}},
		{"merge of three", "model: merges: 3 tokens", object{"model": object{"merges": []any{[]string{"a", "b", "c"}}}}},
		{"merge of one", `model: merges: "ab"`, object{"model": object{"merges": []any{"ab"}}}},
		{"merge to nothing", "is not in the vocabulary", object{"model": object{"merges": []any{"q z"}}}},
		{"foreign alphabet", "byte-level alphabet", object{"model": object{"merges": []any{"▁ a"}}}},
		{"scattered merges", "do not stand together", object{"model": object{"merges": []any{"i n", "e r", "i n"}}}},
		{"whole token of a pair", "is made by no merge, under ignore_merges", object{"model": object{"ignore_merges": true, "merges": []any{}}}},
		{"lowercase", `normalizer: type "Lowercase"`, object{"normalizer": object{"type": "Lowercase"}}},
		{"NFKC in a sequence", `normalizer: type "NFKC"`, object{"normalizer": object{"type": "Sequence", "normalizers": []object{{"type": "NFC"}, {"type": "NFKC"}}}}},
		{"no pre-tokenizer", "pre_tokenizer: there is none", object{"pre_tokenizer": nil}},
		{"metaspace", `pre_tokenizer: type "Metaspace"`, object{"pre_tokenizer": object{"type": "Metaspace"}}},
		{"digits", `pre_tokenizer: type "Digits"`, object{"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{{"type": "Digits"}, {"type": "ByteLevel"}}}}},
		{"prefix space", "add_prefix_space", object{"pre_tokenizer": object{"type": "ByteLevel", "add_prefix_space": true}}},
		{"nothing splits", "no pattern splits", object{"pre_tokenizer": object{"type": "ByteLevel", "use_regex": false}}},
		{"merged with previous", `behavior "MergedWithPrevious"`, object{"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"Regex": "a"}, "behavior": "MergedWithPrevious"}, {"type": "ByteLevel"}}}}},
		{"literal split", "only a Regex", object{"pre_tokenizer": object{"type": "Sequence", "pretokenizers": []object{
			{"type": "Split", "pattern": object{"String": " "}, "behavior": "Isolated"}, {"type": "ByteLevel"}}}}},
		{"possessive", "possessive quantifier", object{"pre_tokenizer": split(`\p{L}++| +`)}},
		{"look-behind", `uses "(?<="`, object{"pre_tokenizer": split(`(?<=a)b`)}},
		{"word class", `uses "\\w+"`, object{"pre_tokenizer": split(`\w+`)}},
		{"script", `uses "\\p{"`, object{"pre_tokenizer": split(`\p{Han}+`)}},
		{"class in a class", "class within a class", object{"pre_tokenizer": split(`[a-z&&[^b]]`)}},
		{"broken pattern", "pre_tokenizer: pattern", object{"pre_tokenizer": split(`[a`)}},
		{"bert processor", `post_processor: type "BertProcessing"`, object{"post_processor": object{"type": "BertProcessing"}}},
		{"template without text", "does not hold the text once", object{"post_processor": object{"type": "TemplateProcessing"}}},
		{"truncation", "truncation: ", object{"truncation": object{"max_length": 5}}},
		{"padding", "padding: ", object{"padding": object{"strategy": "BatchLongest"}}},
		{"single word", `added_tokens: "<|x|>"`, object{"added_tokens": token("single_word", true)}},
		{"strips", `added_tokens: "<|x|>"`, object{"added_tokens": token("rstrip", true)}},
		{"two ids", `has id 5000, in the vocabulary`, object{"added_tokens": []object{{"id": 5000, "content": "a"}}}},
	} {
		_, err := load.LoadTokenizer(small(t, tt.change))
		if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
	}
	if _, err := load.LoadTokenizer(filepath.Join(t.TempDir(), "absent.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestTokenizerLongRun(t *testing.T) {
	tok, err := load.LoadTokenizer(small(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Count(strings.Repeat("a", 50_000)); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a run of 50,000 letters: %v", err)
	}
	if n, err := tok.Count(strings.Repeat("word ", 20_000)); err != nil || n < 20_000 {
		t.Errorf("20,000 words: %d tokens, %v", n, err)
	}
	a, err := tok.Encode("a\xff\xfeb")
	b, err2 := tok.Encode("a\ufffd\ufffdb")
	if err != nil || err2 != nil || !slices.Equal(a, b) {
		t.Errorf("bytes that are no text: %v %v, want as U+FFFD: %v %v", a, err, b, err2)
	}
}

// TestQwen3Tokenizer checks the real file, which SWEEPBOOK_QWEN3_TOKENIZER names,
// against what the reference encoder gave for it.
func TestQwen3Tokenizer(t *testing.T) {
	path := os.Getenv("SWEEPBOOK_QWEN3_TOKENIZER")
	if path == "" {
		t.Skip("SWEEPBOOK_QWEN3_TOKENIZER names no tokenizer.json of Qwen3")
	}
	var want struct {
		SHA256 string
		Cases  []tokenCase
	}
	readJSON(t, filepath.Join("testdata", "tokenizer", "qwen3.json"), &want)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.SHA256 {
		t.Logf("another version of the file: sha256 %x, the table was made of %s", sum, want.SHA256)
	}
	tok, err := load.LoadTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	sameTokens(t, tok, want.Cases)
}

// FuzzTokenizerFile: any file is read or refused, and what is read encodes.
func FuzzTokenizerFile(f *testing.F) {
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]}}`))
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"vocab":{},"merges":[["a","b"]]}}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "tokenizer.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if tok, err := load.LoadTokenizer(path); err == nil {
			_, _ = tok.Count("Hello, мир 你好 12 😀\n")
		} else if !errors.Is(err, core.ErrInvalid) {
			t.Fatal(err)
		}
	})
}

// TestRealTokenizers compares with the reference on real files, which are too
// large to ship: SWEEPBOOK_TOKENIZERS is a folder of folders, each with a
// tokenizer.json and the cases.json that testdata/tokenizer/cases.py made of it.
func TestRealTokenizers(t *testing.T) {
	dir := os.Getenv("SWEEPBOOK_TOKENIZERS")
	if dir == "" {
		t.Skip("SWEEPBOOK_TOKENIZERS names no folder of real tokenizers")
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "tokenizer.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no tokenizer in %s: %v", dir, err)
	}
	for _, path := range found {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			start := time.Now()
			tok, err := load.LoadTokenizer(path)
			if err != nil {
				t.Skipf("refused: %v", err)
			}
			loaded := time.Since(start)
			var want struct{ Cases []tokenCase }
			readJSON(t, filepath.Join(filepath.Dir(path), "cases.json"), &want)
			start = time.Now()
			sameTokens(t, tok, want.Cases)
			t.Logf("loaded in %v, %d texts in %v", loaded, len(want.Cases), time.Since(start))
		})
	}
}
