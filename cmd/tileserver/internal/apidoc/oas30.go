package apidoc

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// OpenAPI30 describes the paths below a prefix in OpenAPI 3.0, for standards that ask for that
// version: only GET, paths without the prefix, and server as the address of the prefix. It
// translates keywords that differ in OpenAPI 3.1.
func (d *Document) OpenAPI30(prefix, server string) ([]byte, error) {
	var whole object
	if err := json.Unmarshal(d.json, &whole); err != nil {
		return nil, bad("%s", err)
	}
	o := older{whole: whole, components: object{}}
	paths := object{}
	all, _ := whole["paths"].(object)
	tags := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		rest, ok := strings.CutPrefix(path, prefix)
		get, described := all[path].(object)["get"].(object)
		if rest == "" {
			rest = "/"
		}
		if !ok || !described || paths[rest] != nil { // the prefix also exists with a slash at its end
			continue
		}
		for _, t := range get["tags"].([]any) {
			tags[t.(string)] = true
		}
		if id := get["operationId"].(string); strings.HasPrefix(id, "tiles_") {
			get["operationId"] = strings.ReplaceAll(id, "_", ".") // as OGC API – Tiles calls it
		}
		paths[rest] = object{strings.ToLower(http.MethodGet): o.convert(get)}
	}
	doc := object{"openapi": "3.0.3", "info": o.convert(whole["info"]), "servers": []any{object{"url": server}}, "paths": paths}
	if info, ok := doc["info"].(object); ok {
		delete(info, "summary") // newer than this version
		if license, ok := info["license"].(object); ok {
			delete(license, "identifier")
		}
	}
	var kept []any
	groups, _ := whole["tags"].([]any)
	for _, t := range groups {
		if tags[t.(object)["name"].(string)] {
			kept = append(kept, t)
		}
	}
	if components, ok := whole["components"].(object); ok && components["securitySchemes"] != nil {
		o.components["securitySchemes"] = components["securitySchemes"]
	}
	doc["tags"], doc["components"], doc["security"] = kept, o.components, whole["security"]
	return json.Marshal(doc)
}

// older converts OpenAPI 3.1 to 3.0.
type older struct {
	whole      object
	components object // the components that are referred to
}

func (o *older) convert(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = o.convert(v[i])
		}
		return list
	case object:
		if address, ok := v["$ref"].(string); ok {
			return o.refer(address)
		}
		return o.object(v)
	}
	return v
}

func (o *older) object(v object) object {
	dst := object{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		value := v[key]
		types, several := value.([]any)
		switch {
		case key == "const":
			dst["enum"] = []any{value}
			if _, typed := v["type"]; !typed {
				if kind := typeOfValue(value); kind != "" {
					dst["type"] = kind
				}
			}
		case key == "type" && several:
			for _, t := range types {
				if t == "null" {
					dst["nullable"] = true
				} else {
					dst["type"] = t
				}
			}
		case key == "examples" && several:
			if len(types) > 0 {
				dst["example"] = types[0]
			}
		case key == "prefixItems" || key == "contentMediaType" || key == "contentSchema": // only in 3.1
		case key == "exclusiveMinimum" || key == "exclusiveMaximum":
			if _, number := value.(float64); number {
				dst[strings.ToLower(strings.TrimPrefix(key, "exclusive"))] = value
				value = true
			}
			dst[key] = value
		default:
			dst[key] = o.convert(value)
		}
	}
	if schema, _ := dst["schema"].(object); v["in"] == "query" && schema != nil {
		// The standard's tests require these members, although most have the default value.
		dst["style"] = "form"
		if dst["explode"] == nil {
			dst["explode"] = schema["type"] == "object"
		}
	}
	return dst
}

func typeOfValue(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	}
	return ""
}

// refer returns a reference to a component unchanged, and adds the component. It replaces a
// reference to a part of a path by that part.
func (o *older) refer(address string) any {
	parts := strings.Split(strings.TrimPrefix(address, "#/"), "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(parts[i])
	}
	var at any = o.whole
	for _, part := range parts {
		switch v := at.(type) {
		case object:
			at = v[part]
		case []any:
			i := 0
			for _, c := range part {
				i = i*10 + int(c-'0')
			}
			at = v[i]
		}
	}
	if parts[0] != "components" || len(parts) != 3 {
		return o.convert(at)
	}
	kind, ok := o.components[parts[1]].(object)
	if !ok {
		kind = object{}
		o.components[parts[1]] = kind
	}
	if _, done := kind[parts[2]]; !done {
		kind[parts[2]] = nil // schemas may refer to themselves
		kind[parts[2]] = o.convert(at)
	}
	return object{"$ref": address}
}
