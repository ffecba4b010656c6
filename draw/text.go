package draw

// The width of text. An SVG viewer chooses the font, so this is an estimate: the widths of
// Helvetica, which Arial and Liberation Sans share, and a little more for other fonts.

// glyphs are the widths of the printable ASCII characters, from space to ~, in
// thousandths of the font size.
var glyphs = [95]float64{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// widthOf returns the width of a line of text.
func widthOf(s string, size float64, bold bool) float64 {
	sum := 0.0
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			sum += glyphs[r-' ']
		case r < 0x1100: // Latin, Greek, Cyrillic, Arabic, …
			sum += 600
		default: // wide scripts, symbols, emoji
			sum += 1000
		}
	}
	if bold {
		sum *= 1.06
	}
	return sum * size / 1000 * 1.04
}
