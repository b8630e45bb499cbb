package apidoc

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
)

// prose converts a description to paragraphs. Of Markdown, descriptions use only empty lines and
// backquotes.
func prose(text string) template.HTML {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for p := range strings.SplitSeq(text, "\n\n") {
		b.WriteString("<p>" + string(spans(p)) + "</p>\n")
	}
	return template.HTML(b.String()) //nolint:gosec // spans escapes
}

// spans escapes text, and marks the words between backquotes as code.
func spans(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // every part is escaped
}

// bounds describes in few words the values that a parameter may have.
func bounds(schema object) string {
	if items, ok := schema["items"].(object); ok {
		n := ""
		if most, ok := schema["maxItems"].(float64); ok {
			n = " at most " + number(most)
			if schema["minItems"] == most {
				n = " " + number(most)
			}
		}
		return "list of" + n + ": " + bounds(items)
	}
	if words, ok := schema["enum"].([]any); ok {
		var list []string
		for _, w := range words {
			list = append(list, fmt.Sprint(w))
		}
		return strings.Join(list, ", ") + otherwise(schema)
	}
	kind, _ := schema["type"].(string)
	low, hasLow := schema["minimum"].(float64)
	high, hasHigh := schema["maximum"].(float64)
	switch {
	case hasLow && hasHigh:
		kind += " from " + number(low) + " to " + number(high)
	case hasLow:
		kind += " from " + number(low)
	}
	if most, ok := schema["maxLength"].(float64); ok {
		kind += " of at most " + number(most) + " bytes"
	}
	if format, ok := schema["format"].(string); ok {
		kind += ", " + format
	}
	return kind + otherwise(schema)
}

func otherwise(schema object) string {
	d := schema["default"]
	if d == nil {
		return ""
	}
	if v, ok := d.(float64); ok {
		d = number(v)
	}
	return fmt.Sprintf("; %v if absent", d)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func newPageSchema(name string, schema object) pageSchema {
	text, _ := schema["description"].(string)
	s := pageSchema{Name: name, Text: spans(text), Members: members(schema)}
	if len(s.Members) == 0 {
		s.Kind = kindOf(schema)
	}
	return s
}

// members returns the properties of an object, required ones first.
func members(schema object) []pageMember {
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	list := make([]pageMember, 0, len(properties))
	for name, p := range properties {
		p, ok := p.(object)
		if !ok {
			continue
		}
		text, _ := p["description"].(string)
		list = append(list, pageMember{Name: name, Kind: kindOf(p), Text: spans(text), Required: slices.Contains(required, any(name))})
	}
	slices.SortFunc(list, func(x, y pageMember) int {
		if x.Required != y.Required {
			if x.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
	return list
}

// kindOf describes a schema, with links to the schemas it refers to.
func kindOf(schema object) template.HTML {
	esc := func(s string) template.HTML { return template.HTML(template.HTMLEscapeString(s)) } //nolint:gosec // escaped
	if r, ok := schema["$ref"].(string); ok {
		name := esc(r[strings.LastIndexByte(r, '/')+1:])
		return `<a href="#schema-` + name + `">` + name + `</a>`
	}
	if c, ok := schema["const"]; ok {
		return esc(fmt.Sprintf("%v", c))
	}
	if words, ok := schema["enum"].([]any); ok {
		var list []string
		for _, w := range words {
			list = append(list, fmt.Sprint(w))
		}
		return esc(strings.Join(list, ", "))
	}
	if either, ok := schema["anyOf"].([]any); ok {
		var kinds []string
		for _, e := range either {
			if e, ok := e.(object); ok {
				kinds = append(kinds, string(kindOf(e)))
			}
		}
		return template.HTML(strings.Join(kinds, " or ")) //nolint:gosec // escaped above
	}
	if items, ok := schema["items"].(object); ok {
		return "list of " + kindOf(items)
	}
	if inner := members(schema); len(inner) > 0 {
		var kinds []string
		for _, m := range inner {
			kinds = append(kinds, string(esc(m.Name)))
		}
		return template.HTML("{ " + strings.Join(kinds, ", ") + " }") //nolint:gosec // escaped above
	}
	switch t := schema["type"].(type) {
	case string:
		if f, ok := schema["format"].(string); ok {
			return esc(t + ", " + f)
		}
		return esc(t)
	case []any:
		var list []string
		for _, w := range t {
			list = append(list, fmt.Sprint(w))
		}
		return esc(strings.Join(list, " or "))
	}
	return "anything"
}
