package search

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"quadrille/internal/testrace"
)

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		" -- ":                  "",
		"Zürich":                "zurich",
		"Zu\u0308rich":          "zurich",
		"ŁÓDŹ":                  "lodz",
		"Tromsø":                "tromso",
		"Straße":                "strasse",
		"ẞ":                     "ss",
		"Ærø":                   "aero",
		"Þórshöfn":              "thorshofn",
		"İstanbul":              "istanbul",
		"Diyarbakır":            "diyarbakir",
		"Đà Nẵng":               "da nang",
		"L'Aquila":              "laquila",
		"L’Aquila":              "laquila",
		"Xi'an":                 "xian",
		"Hawaiʻi":               "hawaii",
		"St. Louis":             "st louis",
		"  A  --  B ":           "a b",
		"Winston-Salem":         "winston salem",
		"Frankfurt (Oder)":      "frankfurt oder",
		"ＴＯＫＹＯ":                 "tokyo",
		"ﬁeld":                  "field",
		"北京":                    "北京",
		"東京都 （とうきょう）":           "东京都 とうきょう",
		"か\u3099":               "が",
		"ｶﾞ":                    "が",
		"\u1112\u1161\u11ab":    "\u1112\u1161\u1102",
		"МОСКВА":                "москва",
		"Йошкар-Ола":            "йошкар ола",
		"Орёл":                  "орел",
		"ΑΘΉΝΑΣ":                "αθηνασ",
		"Αθήνας":                "αθηνασ",
		"القاهرة":               "القاهره",
		"اَلْقَاهِرَة":          "القاهره",
		"أبو ظبي":               "ابو ظبي",
		"תֵּל־אָבִיב":           "תל אביב",
		"दिल्ली":                "दिल्ली",
		"กรุงเทพ":               "กรุงเทพ",
		"١٢٣":                   "123",
		"a\u00adb\u200dc\ufeff": "abc",
		"a\x00b\x7fc":           "a b c",
		"a\xffb":                "a b",
		"Cel·la":                "cella",
		"國學廣東灣":                 string(Fold(nil, "国学广东湾")),
		"廣島":                    string(Fold(nil, "広島")),
		"澤濱櫻驛":                  string(Fold(nil, "沢浜桜駅")),
		"臺灣 台灣":                 string(Fold(nil, "台湾 台湾")),
		"トウキョウ":                 "とうきょう",
		"鎌ヶ谷":                   string(Fold(nil, "鎌ケ谷")),
		"ニューヨーク":                "にゅーよーく",
		"서울":                    "\u1109\u1165\u110b\u116e\u1105",
		"서욹":                    string(Fold(nil, "서울ㄱ")),
		"ㅅ":                     "ᄉ",
		"과":                     string(Fold(nil, "고ㅏ")),
		"کراچی":                 "كراچي",
		"إسلام آباد":            "اسلام اباد",
		"پاکستان ے ھ":           "پاكستان ي ه",
		"か\u200d\u3099":         "か",
		"№ 5":                   "5",
	} {
		if got := string(Fold(nil, in)); got != want {
			t.Errorf("%q folds to %q, want %q", in, got, want)
		}
	}
}

func TestFoldVariants(t *testing.T) {
	for _, tc := range []struct {
		in      string
		variant int
		want    string
	}{
		{"München", umlautFold, "muenchen"},
		{"ÅRHUS Ø", umlautFold, "aarhus oe"},
		{"Zürich é", umlautFold, "zuerich e"},
		{"St. Louis", abbrevFold, "saint louis"},
		{"Sankt Pölten", abbrevFold, "st polten"},
		{"Port SAINT-LUCIE", abbrevFold, "port st lucie"},
		{"Saintes", abbrevFold, "saintes"},
		{"Stadt", abbrevFold, "stadt"},
		{"Sté", abbrevFold, "sainte"},
		{"Mt.Fort", abbrevFold, "mount ft"},
		{"Sainte", abbrevFold, "ste"},
		{"St", abbrevFold, "saint"},
	} {
		got, _ := foldWords(nil, nil, normalize(tc.in), tc.variant)
		if string(got) != tc.want {
			t.Errorf("%q folds to %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestWordStarts(t *testing.T) {
	for in, want := range map[string]string{
		"Rio de Janeiro": "rio de janeiro|de janeiro|janeiro",
		"L'Aquila":       "laquila|aquila",
		"Xi'an":          "xian",
		"'s-Hertogen":    "s hertogen|hertogen",
		"d’Ötztal (Tal)": "dotztal tal|otztal tal|tal",
		"½5 x":           "1 25 x|x",
	} {
		fold, starts := foldWords(nil, []wordStart{}, in, plainFold)
		var got []string
		for _, s := range starts {
			got = append(got, string(fold[s.fold:]))
			// The rest of the text, folded by itself, has the same fold.
			if alone := Fold(nil, in[s.source:]); !bytes.Equal(alone, fold[s.fold:]) {
				t.Errorf("%q from %d folds to %q, want %q", in, s.source, alone, fold[s.fold:])
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("words of %q: %q, want %q", in, got, want)
		}
	}
}

func TestMatchedEnd(t *testing.T) {
	for _, tc := range []struct {
		in      string
		from    int
		variant int
		n       int
		want    string
	}{
		{"Zürich", 0, plainFold, 3, "Zür"},
		{"Straße", 0, plainFold, 5, "Straß"},
		{"Straße", 0, plainFold, 6, "Straß"},
		{"St. Louis", 0, plainFold, 2, "St"},
		{"St. Louis", 0, plainFold, 4, "St. L"},
		{"St. Louis", 0, abbrevFold, 4, "St"},
		{"St. Louis", 0, abbrevFold, 8, "St. Lo"},
		{"München", 0, umlautFold, 3, "Mü"},
		{"Rio de Janeiro", 7, plainFold, 3, "Jan"},
		{"Zu\u0308rich", 0, plainFold, 2, "Zu\u0308"},
		{"L'Aquila", 0, plainFold, 2, "L'A"},
		{"x", 0, plainFold, 9, "x"},
	} {
		end := matchedEnd(tc.in, tc.from, tc.variant, tc.n)
		if got := tc.in[tc.from:end]; got != tc.want {
			t.Errorf("%d bytes of %q end after %q, want %q", tc.n, tc.in, got, tc.want)
		}
	}
}

// Every character has a fold that folds to itself, grows within the bound, and agrees with its
// decomposition.
func TestFoldEveryCharacter(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// Han, Hangul, private and unassigned characters are all treated in the same way.
		if alike := 0x3400 <= r && r < 0xf900 || r >= 0x20000 && r < 0x2f800 || r >= 0x30000 && r < 0xe0000 || r >= 0xe0200; alike && r%61 != 0 {
			continue
		}
		s := string(r)
		once := Fold(nil, s)
		if twice := Fold(nil, string(once)); !bytes.Equal(once, twice) {
			t.Errorf("%U folds to %q, and that to %q", r, once, twice)
		}
		if len(once) > MaxFoldGrowth*len(s) {
			t.Errorf("%U grows to %d bytes", r, len(once))
		}
		for _, variant := range []int{umlautFold, abbrevFold, latinFold} {
			if got, _ := foldWords(nil, nil, normalize(s), variant); len(got) > MaxFoldGrowth*len(s) {
				t.Errorf("%U grows to %d bytes", r, len(got))
			}
		}
		if bytes.IndexByte(once, 0) >= 0 || !utf8.Valid(once) {
			t.Errorf("%U folds to %q", r, once)
		}
		if d := norm.NFD.String(s); d != s && !bytes.Equal(once, Fold(nil, d)) {
			t.Errorf("%U folds to %q, decomposed to %q", r, once, Fold(nil, d))
		}
		if up := string(unicode.ToUpper(r)); r < 0x2000 && !unicode.Is(unicode.M, r) && !bytes.Equal(once, Fold(nil, up)) {
			t.Errorf("%U folds to %q, in upper case to %q", r, once, Fold(nil, up))
		}
	}
}

func checkFold(t interface{ Errorf(string, ...any) }, s string) {
	once := Fold([]byte("before"), s)
	if !bytes.HasPrefix(once, []byte("before")) {
		t.Errorf("%q overwrites", s)
		return
	}
	once = once[6:]
	if twice := Fold(nil, string(once)); !bytes.Equal(once, twice) {
		t.Errorf("%q folds to %q, and that to %q", s, once, twice)
	}
	// Composing may lengthen the fold further, for a few characters by half.
	if len(once) > 2*MaxFoldGrowth*len(s) {
		t.Errorf("%q grows to %d bytes", s, len(once))
	}
	if bytes.Contains(once, []byte("  ")) || bytes.HasPrefix(once, []byte(" ")) || bytes.HasSuffix(once, []byte(" ")) ||
		bytes.IndexByte(once, 0) >= 0 {
		t.Errorf("%q folds to %q", s, once)
	}
	if !utf8.Valid(once) {
		t.Errorf("%q folds to %q, which is not UTF-8", s, once)
	}
	n := normalize(s)
	for variant := range folds {
		fold, starts := foldWords(nil, []wordStart{}, n, variant)
		for _, w := range starts {
			rest, _ := foldWords(nil, nil, n[w.source:], variant)
			if !w.elided && !bytes.Equal(rest, fold[w.fold:]) {
				t.Errorf("word %v of %q folds to %q, want %q", w, s, rest, fold[w.fold:])
			}
		}
		if len(fold) > 0 && matchedEnd(n, 0, variant, len(fold)) > len(n) {
			t.Errorf("%q ends beyond its end", s)
		}
	}
	accentFold(nil, n)
	accented(n)
}

func TestFoldProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkFold(t, rapid.String().Draw(t, "s")) })
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"Zürich", "L'Aquila", "St. Louis", "ｶﾞ", "\u1112\u1161\u11ab", "दिल्ली", "a\xff", "ﷺ", "i\u0307",
		"서욹ㅅ", "ヶ\u3099", "學廣", "\u202e\u200d😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkFold(t, s) })
}

func TestFoldASCIIAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = Fold(dst[:0], "Frankfurt am Main") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFold(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":    "Frankfurt am Main",
		"latin":    "Zürich Flüelastraße",
		"cyrillic": "Санкт-Петербург",
		"han":      "北京市朝陽區",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = Fold(dst[:0], s)
			}
		})
	}
}
