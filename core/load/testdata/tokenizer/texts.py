"""The texts on which tokenizers are compared with the reference encoder."""

import random
import unicodedata

FIXED = [
    "",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog. It's 12:45, isn't it? We'LL see; they'Ve gone.",
    "   leading, trailing   and\tinner \u00a0 blanks \u2003 of\u3000many kinds  ",
    "line one\nline two\r\n\r\n  line four\n\n\n",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ёлка, йод, ПРИВЕТ.",
    "Е\u0308лка и и\u0306од: decomposed; cafe\u0301 A\u030a o\u0323\u0302 \u1e9b\u0323",
    "你好，世界！今天天气很好。这是一个用来测试分词器的句子，里面有数字12345和English。",
    "吾輩は猫である。名前はまだ無い。カタカナもひらがなもある。",
    "안녕하세요 세계. \u1112\u1161\u11ab\u1100\u1173\u11af 한글",
    "emoji 😀 👩‍👩‍👧‍👦 🇩🇪 ✈️ 👍🏽 ❤️‍🔥 and text",
    "مرحبا بالعالم ١٢٣ שלום עולם नमस्ते दुनिया สวัสดีชาวโลก",
    "def f(x: int) -> str:\n    return f\"{x:>10}\"  # comment\n\n\tif not x:\n\t\tpass\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 0x1F; } // €£¥ ≤≥≠ →←",
    "SELECT * FROM t WHERE a = 'it''s' AND b IN (1,22,333,4444,55555);",
    "https://example.org/a/b?c=d&e=%20f#g user@example.org 2026-11-30T21:46:28Z 3.14159 1e-9 1,000,000",
    "<|im_start|>user\nWhat is <|endoftext|> and <think>?</think><|im_end|>\n<|not_a_token|> <|im_start",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb                                  =================",
    "\u0000\u0001\u007f\u0080\u009f\ufeff\ufffd\u200b\u200d\u2028\u2029",
    "'s'S'ſ 'T'RE's \u017f K\u212a \u0130 \u0131",
]

WORDS = (
    "the of and model server token latency throughput benchmark request stream batch cache memory"
    " функция сервер токен задержка ёмкость Привет 你好 世界 性能 测试 ありがとう データ 안녕 세계 مرحبا 😀 🚀 def return"
    " import class { } ( ) [ ] == != += -> :: /* */ // # 0 1 42 1234567 3.14 'll 're it's DON'T"
).split(" ")


def random_texts(n, seed=1):
    """Texts of words, of any assigned characters, and of repeats."""
    r = random.Random(seed)
    assigned = [c for c in range(0x20, 0x30000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    blanks = [" ", "  ", "\n", "\n\n", "\t", " \n", "\r\n", "\u00a0", "", ""]
    for i in range(n):
        size = r.randrange(1, 40)
        if i % 3 == 0:
            yield "".join(r.choice(WORDS) + r.choice(blanks) for _ in range(size))
        elif i % 3 == 1:
            yield "".join(chr(r.choice(assigned)) + r.choice(blanks) for _ in range(size))
        else:
            yield "".join(chr(r.choice(assigned[:800])) * r.randrange(1, 4) + r.choice(WORDS) for _ in range(size))
