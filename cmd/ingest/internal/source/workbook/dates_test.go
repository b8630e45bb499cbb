package workbook

import "testing"

func TestStyleOf(t *testing.T) {
	for code, want := range map[string]style{
		"General": plain, "0.00": plain, "#,##0 \"days\"": plain, `0\d`: plain, "0.00E+00": plain, "[Red]0;[Blue]-0": plain, "[$-407]0 €": plain,
		"@": plain, "_-* #,##0_d": plain, "": plain, "[": plain, "\"": plain,
		"yyyy-mm-dd": date, "DD.MM.YYYY": date, "mmm": date, `d\. mmmm yyyy;@`: date, "[$-409]m/d/yy": date, "dd/mm/yyyy": date,
		"m/d/yy h:mm": date | clock, "yyyy-mm-ddThh:mm:ss": date | clock, "h:mm AM/PM": clock, "mm:ss.0": clock, "[h]:mm": span, "[mm]:ss": span,
	} {
		if got := styleOf(code); got != want {
			t.Errorf("%q: %d, want %d", code, got, want)
		}
	}
}

func TestAppendTime(t *testing.T) {
	for _, tc := range []struct {
		days     float64
		style    style
		from1904 bool
		want     string // "": none
	}{
		{1, date, false, "1900-01-01"}, {59, date, false, "1900-02-28"}, {60, date, false, ""}, {61, date, false, "1900-03-01"},
		{46356, date, false, "2026-11-30"}, {46356, date | clock, false, "2026-11-30T00:00:00"}, {46356.5, date, false, "2026-11-30T12:00:00"},
		{46355.99999999999, date, false, "2026-11-30"}, {46356.000011574, date | clock, false, "2026-11-30T00:00:01"},
		{0.5, clock, false, "12:00:00"}, {0, clock, false, "00:00:00"}, {0, date, false, ""}, {0.25, date, false, "06:00:00"},
		{46356.75, clock, false, "2026-11-30T18:00:00"}, {1.5, span, false, "36:00:00"}, {0.0625, span, false, "01:30:00"},
		{0.5000005, clock, false, "12:00:00.043"}, {2958465, date, false, "9999-12-31"}, {2958466, date, false, ""}, {-1, date, false, ""},
		{0, date, true, "1904-01-01"}, {0.5, clock, true, "12:00:00"}, {44894, date, true, "2026-11-30"}, {60, date, true, "1904-03-01"},
	} {
		got, is := appendTime([]byte("x"), tc.days, tc.style, tc.from1904)
		if want := `x"` + tc.want + `"`; is != (tc.want != "") || is && string(got) != want || !is && string(got) != "x" {
			t.Errorf("%v as %d: %s %v, want %s", tc.days, tc.style, got, is, tc.want)
		}
	}
}

func TestCellNames(t *testing.T) {
	for column, name := range map[int]string{0: "A1", 25: "Z1", 26: "AA1", 701: "ZZ1", 702: "AAA1", 16383: "XFD1"} {
		if got := cellName(1, column); got != name || columnOf(name) != column {
			t.Errorf("%d: %s, %d", column, got, columnOf(name))
		}
	}
}
