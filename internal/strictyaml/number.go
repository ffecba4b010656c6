package strictyaml

import (
	"encoding/json"
	"math/big"
	"strings"
)

// number converts a YAML number to the same number in JSON. A number that JSON writes the
// same way keeps its text. It returns "" for numbers that JSON lacks, and for those that
// YAML 1.1 and 1.2 read differently: 010 is 8 or 10, 1_000 is a number or text.
func number(written string) json.Number {
	if isNumber(written) {
		return json.Number(written)
	}
	sign, digits := "", strings.TrimPrefix(written, "+")
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && strings.ContainsRune("xob", rune(digits[1])) {
		if n, ok := new(big.Int).SetString(digits, 0); ok && !strings.Contains(digits, "_") {
			return json.Number(sign + n.String())
		}
		return ""
	}
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
	}
	if whole, rest, ok := strings.Cut(digits, "."); ok && (rest == "" || rest[0] == 'e' || rest[0] == 'E') {
		digits = whole + rest
	}
	if isNumber(sign + digits) {
		return json.Number(sign + digits)
	}
	return ""
}

// isNumber reports whether text is a number as JSON writes it.
func isNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, text := leadingDigits(text)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if strings.HasPrefix(text, ".") {
		var fraction string
		if fraction, text = leadingDigits(text[1:]); fraction == "" {
			return false
		}
	}
	if text == "" {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	text = text[1:]
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	exponent, text := leadingDigits(text)
	return exponent != "" && text == ""
}

func leadingDigits(text string) (digits, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}
