package endtoend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// ellipsis marks omitted parts on pages.
const ellipsis = "…"

// differs returns the difference between a command's output and the answer on the page, or "". want
// is the answer on the page with the ports of the session filled in. An answer in JSON is compared
// by value, and a text line by line.
func (a *answer) differs(want, stdout, stderr string) string {
	if a.kind == "json" {
		return differsJSON(want, stdout)
	}
	for _, got := range []string{stdout, stderr, stdout + stderr} {
		if matchLines(lines(want), lines(got)) {
			return ""
		}
	}
	return "the lines differ"
}

func lines(text string) []string {
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range list {
		list[i] = strings.TrimRight(list[i], " \r")
	}
	return list
}

// matchLines compares lines. A line with only an ellipsis matches any number of lines.
func matchLines(want, got []string) bool {
	return matchList(want, got, func(w string) bool { return w == ellipsis }, matchText)
}

// matchText reports whether two texts are equal. An ellipsis in want matches any text.
func matchText(want, got string) bool {
	parts := strings.Split(want, ellipsis)
	if len(parts) == 1 {
		return want == got
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		if ok {
			_, rest, ok = strings.Cut(rest, part)
		}
	}
	return ok && strings.HasSuffix(rest, parts[len(parts)-1])
}

// matchList compares lists. rest reports whether an element of want matches any number of elements.
func matchList[W, G any](want []W, got []G, rest func(W) bool, same func(W, G) bool) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case rest(want[0]):
		for i := range len(got) + 1 {
			if matchList(want[1:], got[i:], rest, same) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && same(want[0], got[0]) && matchList(want[1:], got[1:], rest, same)
}

// differsJSON compares JSON texts with one value or with several values one after another.
func differsJSON(want, got string) string {
	wanted, err := values(completed(want))
	if err != nil {
		return "the page shows no JSON: " + err.Error()
	}
	found, err := values(got)
	if err != nil {
		return "it wrote no JSON: " + err.Error()
	}
	if len(wanted) != len(found) {
		return fmt.Sprintf("the page shows %d values, and it wrote %d", len(wanted), len(found))
	}
	for i := range wanted {
		if at := differsAt("", wanted[i], found[i]); at != "" {
			return at
		}
	}
	return ""
}

func values(text string) (list []any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, v)
	}
}

// differsAt returns where two values first differ, or "". An ellipsis as a member or element
// matches any number of them, and as a value any value.
func differsAt(at string, want, got any) string {
	switch w := want.(type) {
	case string:
		if g, ok := got.(string); w == ellipsis || ok && matchText(w, g) {
			return ""
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for name, value := range w {
			if name == ellipsis {
				continue
			}
			v, ok := g[name]
			if !ok {
				return at + "." + name + " is missing"
			}
			if d := differsAt(at+"."+name, value, v); d != "" {
				return d
			}
		}
		if _, more := w[ellipsis]; !more {
			for name := range g {
				if _, ok := w[name]; !ok {
					return at + "." + name + " is not on the page"
				}
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		if len(w) == len(g) && !slices.ContainsFunc(w, isEllipsis) {
			for i := range w {
				if d := differsAt(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); d != "" {
					return d
				}
			}
			return ""
		}
		if matchList(w, g, isEllipsis, func(w, g any) bool { return differsAt("", w, g) == "" }) {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s is %s, and on the page %s", at, short(got), short(want))
}

func isEllipsis(v any) bool { return v == ellipsis }

func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 200 {
		return string(b[:200]) + ellipsis
	}
	return string(b)
}

// completed converts JSON with omitted parts to valid JSON. Outside of strings an ellipsis becomes
// an element, a member or a value that is an ellipsis. At the end it closes all that is still open.
func completed(text string) string {
	var out strings.Builder
	var open []byte // brackets
	last := byte(0) // last byte other than white space
	inString, escaped := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString:
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
		case strings.HasPrefix(text[i:], ellipsis):
			i += len(ellipsis) - 1
			filler := `"…"`
			if last != ':' && len(open) > 0 && open[len(open)-1] == '{' {
				filler = `"…":"…"`
			}
			if last != 0 && !strings.ContainsRune("{[,:", rune(last)) {
				filler = "," + filler
			}
			after := strings.TrimLeft(text[i+1:], " \t\r\n")
			if after != "" && !strings.ContainsRune("]},", rune(after[0])) && len(open) > 0 {
				filler += ","
			}
			out.WriteString(filler)
			last = '"'
			for ; after == "" && len(open) > 0; open = open[:len(open)-1] {
				out.WriteString(map[byte]string{'{': "}", '[': "]"}[open[len(open)-1]])
				if len(open) > 1 {
					out.WriteString(map[byte]string{'{': `,"…":"…"`, '[': `,"…"`}[open[len(open)-2]])
				}
			}
			continue
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			open = append(open, c)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			last = c
		}
		out.WriteByte(c)
	}
	return out.String()
}

// A fault of a page is reported with its line, its command, the output and the page's answer.
// Processes that a page started end with it.
func TestPagesThatAreWrong(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	const page = "# Title\n\n```sh\n# a remark\nA='two\nlines'; cd /\nsleep 1000 & \necho \"$A\"\n```\n\n```text\ntwo\nl…s\n```\n" +
		"<!-- not run: it cannot -->\n```sh\nfalse\n```\n```json\n{}\n```\n" +
		"```sh\ncat <<END\n{\"a\": [1, 2.0, {\"b\": \"long text\"}],\n\n \"c\": 7, \"port\": " +
		"\"127.0.0.1:8080\"}\nEND\n```\n```json\n{\"c\":7,\"a\":[1,…],\"port\":\"127.0.0.1:8080\"}\n```\n" +
		"```sh\npwd; echo $QUADRILLE_LISTEN\n```\n\nNot an answer:\n```text\nx\n```\n" +
		"```sh\necho '{\"a\":1}' \\\n  | cat\n```\n```json\n{\"a\":2}\n```\n" +
		"```sh\necho seen >&2\nfalse | true\n(exit 3)\necho never\n```\n```sh\necho never\n```\n"
	blocks := shellBlocks("page.md", page)
	if len(blocks) != 7 || blocks[1].skip == nil || *blocks[1].skip != "it cannot" || blocks[3].answer != nil {
		t.Fatalf("%+v", blocks)
	}
	blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.skip != nil })
	wrong := runPage(t, t.TempDir(), t.TempDir(), blocks)
	if len(wrong) != 2 {
		t.Fatalf("%d things are wrong:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	for i, want := range [][]string{{"page.md:41: echo", ".a is 1, and on the page 2", `{"a":2}`}, {"page.md:50: (exit 3)", "exit status 3"}} {
		for _, part := range want {
			if !strings.Contains(wrong[i], part) {
				t.Errorf("no %q in\n%s", part, wrong[i])
			}
		}
	}
	for _, tc := range []struct {
		kind, want, got string
		same            bool
	}{
		{"json", `{"a":1}`, `{"a":1.0}`, true},
		{"json", `{"a":1}`, `{"a":1,"b":2}`, false},
		{"json", `{"a":1,…}`, `{"b":2,"a":1}`, true},
		{"json", `{…}`, `{"b":2,"a":1}`, true},
		{"json", `{"a":…,"b":2}`, `{"b":2,"a":[1]}`, true},
		{"json", `{"a":…,"b":2}`, `{"b":2}`, false},
		{"json", `[1,…,4]`, `[1,2,3,4]`, true},
		{"json", `[1,…,4]`, `[1,2,3]`, false},
		{"json", `[…]`, `[]`, true},
		{"json", `[{"id":"a",…},…`, `[{"id":"a","x":1},{"id":"b"}]`, true},
		{"json", `{"type":"F","features":[{"id":"s4",…`, `{"type":"F","features":[{"id":"s4","x":1},2],"more":3}`, true},
		{"json", `{"type":"F","features":[{"id":"s4",…`, `{"type":"F","features":[{"id":"s5"}]}`, false},
		{"json", `"an … text"`, `"an odd text"`, true},
		{"json", "{\"a\":1}\n{\"b\":…}\n", "{\"a\":1}\n{\"b\":2}\n", true},
		{"json", "{\"a\":1}", "{\"a\":1}\n{\"b\":2}\n", false},
		{"json", `{"a":1}`, `no JSON`, false},
		{"json", `{"a":"…\"…"}`, `{"a":"x\"y"}`, true},
		{"text", "a\nb", "a\nb\n", true},
		{"text", "a\n…\nd", "a\nb\nc\nd\n", true},
		{"text", "published … in …s", "published 3 in 2.5s", true},
		{"text", "published … in …s", "published 3 in 2.5 h", false},
		{"text", "a", "a\nb", false},
		{"text", "a…a", "a", false},
	} {
		a := answer{kind: tc.kind}
		if differs := a.differs(tc.want, tc.got, ""); (differs == "") != tc.same {
			t.Errorf("%s and %s: %q", tc.want, tc.got, differs)
		}
	}
}
