package tile

import (
	"encoding/json"
	"errors"
	"strconv"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/ogcapi"
	"quadrille/quadkey"
)

// OGCPart is what tiles add to the documents of the OGC APIs.
func (s *Room) OGCPart() ogcapi.Part {
	const tiles, matrices = "http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/", "http://www.opengis.net/spec/tms/2.0/conf/"
	return ogcapi.Part{
		Conformance: []string{
			tiles + "core", tiles + "tileset", tiles + "tilesets-list", tiles + "dataset-tilesets", tiles + "geodata-tilesets", tiles + "oas30",
			tiles + "mvt", tiles + "geojson", tiles + "png", matrices + "tilematrixset", matrices + "tilematrixsetlimits", matrices + "json-tilematrixset", matrices + "json-tilematrixsetlimits",
		},
		Landing: func(base string) []ogcapi.Link {
			return append(tilesetLinks(base+"/ogc"),
				ogcapi.Link{Href: base + "/ogc/tileMatrixSets?f=json", Rel: ogcapi.RelSchemes, Type: ogcapi.TypeJSON, Title: "The tile matrix sets"})
		},
		Collection: func(base, id string) []ogcapi.Link {
			v := s.pinTiles()
			defer v.release()
			if err := v.isTiled(id); err != nil && !errors.Is(err, datasets.ErrFailed) {
				return nil
			}
			return tilesetLinks(ogcapi.Collection(base, id))
		},
		Paths: describePaths(),
	}
}

// tilesetLinks are those of the data as a whole, or of a collection, to their tilesets.
func tilesetLinks(of string) (all []ogcapi.Link) {
	for _, k := range []*tilesetKind{vectorTiles, mapTiles} {
		all = append(all,
			ogcapi.Link{Href: of + "/" + k.path + "?f=json", Rel: k.rel, Type: ogcapi.TypeJSON, Title: "The " + k.title},
			ogcapi.Link{Href: of + "/" + k.path + "?f=html", Rel: k.rel, Type: ogcapi.TypeHTML, Title: "The " + k.title + " as a page"})
	}
	return all
}

// object is one of JSON.
type object map[string]any

// describePaths describes the paths of tiles in OpenAPI 3.0, by the names of operations
// that the standard has. The text is the members of an object.
func describePaths() string {
	param := func(name, in, what string, schema object) object {
		return object{"name": name, "in": in, "required": in == "path", "description": what, "schema": schema}
	}
	formats := func(offered []ogcapi.Format) object {
		var names []string
		for _, f := range offered {
			names = append(names, f.Name)
		}
		return param("f", "query", "The format, instead of by the header Accept.", object{"type": "string", "enum": names})
	}
	get := func(id, summary string, offered []ogcapi.Format, params ...object) object {
		content := object{}
		for _, f := range offered {
			schema := object{"type": "object"}
			if f.Form.Picture() || f == mvtFormat {
				schema = object{"type": "string", "format": "binary"}
			} else if f.Name == "html" {
				schema = object{"type": "string"}
			}
			content[f.Type] = object{"schema": schema}
		}
		responses := object{
			"200": object{"description": "The answer.", "content": content}, "400": object{"description": "A parameter is not valid."},
			"404": object{"description": "There is none."}, "500": object{"description": "The server failed."},
		}
		if offered[0] == mvtFormat {
			responses["204"] = object{"description": "The vector tile is empty."}
		}
		return object{"get": object{"operationId": id, "summary": summary, "tags": []string{"Tiles"}, "parameters": append(params, formats(offered)), "responses": responses}}
	}
	whole := func(name, what string) object { return param(name, "path", what, object{"type": "integer", "minimum": 0}) }
	set := param("tileMatrixSetId", "path", "The tile matrix set.", object{"type": "string", "enum": []string{webMercatorQuad}})
	matrix := param("tileMatrix", "path", "The tile matrix: a zoom from 0 to "+strconv.Itoa(quadkey.MaxZoom)+".", object{"type": "string"})
	row, col := whole("tileRow", "The row, from the north."), whole("tileCol", "The column, from 180° west.")
	theme := param("theme", "query", "The colours of a picture.", object{"type": "string", "enum": []string{"light", "dark", "plain"}})

	paths := object{
		"/tileMatrixSets":                   get("getTileMatrixSetsList", "The tile matrix sets", ogcapi.Documents),
		"/tileMatrixSets/{tileMatrixSetId}": get("getTileMatrixSet", "The definition of a tile matrix set", ogcapi.Documents, set),
	}
	for _, k := range []*tilesetKind{vectorTiles, mapTiles} {
		for _, of := range []struct {
			path, id, name string
			own            []object
		}{
			{"/", "dataset", "all data", []object{param("collections", "query", "Comma-separated: only these collections.", object{"type": "string"})}},
			{"/collections/{collectionId}/", "collection", "a collection", []object{param("collectionId", "path", "The collection.", object{"type": "string"})}},
		} {
			with := func(more ...object) []object { return append(more, of.own...) }
			at, id := of.path+k.path, "tiles."+of.id+"."+k.dataType
			paths[at] = get(id+".getTileSetsList", "The tilesets of "+of.name+": "+k.title, ogcapi.Documents, with()...)
			paths[at+"/{tileMatrixSetId}"] = get(id+".getTileSet", "A tileset of "+of.name+": "+k.title, ogcapi.Documents, with(set)...)
			paths[at+"/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}"] = get(id+".getTile", "A tile of "+of.name+", "+k.dataType, k.formats, with(set, matrix, row, col, theme)...)
		}
	}
	text, err := json.Marshal(paths)
	if err != nil {
		panic(err) // strings and maps of them
	}
	return string(text[1 : len(text)-1])
}
