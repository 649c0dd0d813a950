package load

import (
	"slices"
	"testing"
)

func TestNFC(t *testing.T) {
	c, err := newComposer()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, want string }{
		{"plain and résumé", "plain and résumé"},
		{"e\u0301", "é"},
		{"E\u0308лка и\u0306", "Ëлка й"},
		{"a\u0323\u0302", "\u1ead"},       // dot below, then circumflex: ậ
		{"a\u0302\u0323", "\u1ead"},       // the other order is the same character
		{"\u212b\u2126\u212a", "ÅΩK"},     // singletons
		{"\u0958", "\u0915\u093c"},        // never composed
		{"\u1112\u1161\u11ab", "\ud55c"},  // Hangul: 한
		{"\ud558\u11ab", "\ud55c"},        // a syllable and a final
		{"\u1112\u1161\u11a7", "하\u11a7"}, // the filler below the finals is none
		{"\uf900", "\u8c48"},
		{"q\u0307\u0323", "q\u0323\u0307"}, // put in order, nothing to compose
		{"a\u0308b\u0301\u0308", "äb\u0301\u0308"},
		{"\u0301a", "\u0301a"},
		{"\u1100\u1161\u0300", "\uac00\u0300"},
		{"", ""},
	} {
		got := c.normalize(tt.text)
		if got != tt.want {
			t.Errorf("%+q gives %+q, want %+q", tt.text, got, tt.want)
		}
		if again := c.normalize(got); again != got {
			t.Errorf("%+q is not its own form", got)
		}
	}
	// Every character of the table has a form that keeps itself.
	for r := range c.decompose {
		if one := c.normalize(string(r)); c.normalize(one) != one {
			t.Errorf("%U", r)
		}
	}
	if n := len(c.decompose); n < 2000 {
		t.Errorf("%d decompositions", n)
	}
}

func TestObjectsAreFound(t *testing.T) {
	places, err := indexObjects(&byByte{[]byte(` [ {"a":"}\"{"} ,{"b":[{"c":{}}]}, 5, [{"d":1}] ] `)})
	if err != nil {
		t.Fatal(err)
	}
	if want := []place{{3, 12}, {17, 16}}; !slices.Equal(places, want) {
		t.Errorf("%v, want %v", places, want)
	}
}
