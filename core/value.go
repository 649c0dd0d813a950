package core

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Kind says what a Value holds.
type Kind uint8

const (
	// KindMissing is the zero Value: nothing is known.
	KindMissing Kind = iota
	// KindNumber holds a float64; +Inf is the setting "unlimited".
	KindNumber
	// KindText holds a string.
	KindText
	// KindBool holds true or false.
	KindBool
	// KindUnset says that the command is known and does not give this knob. It
	// is unequal to every value and has no order; that is a known fact, not a
	// missing one.
	KindUnset
)

// Value is one typed value of a field or a knob. The zero Value is missing.
type Value struct {
	Kind Kind
	Num  float64 // for KindNumber; 1 or 0 for KindBool
	Text string  // for KindText
}

// Missing is the value of which nothing is known.
func Missing() Value { return Value{} }

// Unset is the value of a knob that a known command does not give.
func Unset() Value { return Value{Kind: KindUnset} }

// Unlimited is the setting without a limit: above every number.
func Unlimited() Value { return Value{Kind: KindNumber, Num: math.Inf(1)} }

// Number returns a number, or Missing when f is NaN. +Inf is Unlimited; a
// measured figure must be checked for finiteness before (see Figures.Set).
func Number(f float64) Value {
	if math.IsNaN(f) {
		return Value{}
	}
	return Value{Kind: KindNumber, Num: f}
}

// String returns a text value; the empty string is a text, not missing.
func String(s string) Value { return Value{Kind: KindText, Text: s} }

// Bool returns a boolean value.
func Bool(b bool) Value {
	v := Value{Kind: KindBool}
	if b {
		v.Num = 1
	}
	return v
}

// OptionalText returns Missing for the empty string.
func OptionalText(s string) Value {
	if s == "" {
		return Value{}
	}
	return String(s)
}

// IsMissing reports whether nothing is known of the value.
func (v Value) IsMissing() bool { return v.Kind == KindMissing }

// IsUnlimited reports whether the value is the setting without a limit.
func (v Value) IsUnlimited() bool { return v.Kind == KindNumber && math.IsInf(v.Num, 1) }

// True reports whether the value is the boolean true.
func (v Value) True() bool { return v.Kind == KindBool && v.Num == 1 }

// Equal reports whether two values are the same kind and content. It is the
// equality of Go data, not of the query language.
func (v Value) Equal(w Value) bool { return v == w }

// String renders the value for people: "unlimited" for +Inf, "" for missing.
// Numbers are shortest-exact.
func (v Value) String() string {
	switch v.Kind {
	case KindNumber:
		if v.IsUnlimited() {
			return "unlimited"
		}
		return strconv.FormatFloat(v.Num, 'f', -1, 64)
	case KindText:
		return v.Text
	case KindBool:
		return strconv.FormatBool(v.Num == 1)
	case KindUnset:
		return "unset"
	}
	return ""
}

// MarshalJSON gives null for missing and unset, "inf" for unlimited.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.Kind {
	case KindNumber:
		if v.IsUnlimited() {
			return []byte(`"inf"`), nil
		}
		if math.IsInf(v.Num, 0) || math.IsNaN(v.Num) {
			return []byte("null"), nil
		}
		return json.Marshal(v.Num)
	case KindText:
		return json.Marshal(v.Text)
	case KindBool:
		return json.Marshal(v.Num == 1)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes. "inf" becomes unlimited.
func (v *Value) UnmarshalJSON(data []byte) error {
	var x any
	if err := json.Unmarshal(data, &x); err != nil {
		return err
	}
	switch x := x.(type) {
	case nil:
		*v = Value{}
	case float64:
		*v = Number(x)
	case bool:
		*v = Bool(x)
	case string:
		if x == "inf" {
			*v = Unlimited()
		} else {
			*v = String(x)
		}
	default:
		return fmt.Errorf("value: neither number, text, true, false nor null: %s", data)
	}
	return nil
}

// ParseValue reads a value as people write it on a command line: a number, true
// or false, "unlimited" or "inf", else text.
func ParseValue(s string) Value {
	switch s {
	case "true", "True":
		return Bool(true)
	case "false", "False":
		return Bool(false)
	case "unlimited", "inf", "Infinity":
		return Unlimited()
	}
	if len(s) > 0 && (s[0] == '-' || s[0] == '+' || s[0] == '.' || (s[0] >= '0' && s[0] <= '9')) {
		if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return Number(f)
		}
	}
	return String(s)
}
