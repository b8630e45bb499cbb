package job

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// FirstBytes are enough of a file to tell its format.
func FirstBytes(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var head [16]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(head[:n]), nil
}

// JSONExtensions are those of GeoJSON and TopoJSON.
var JSONExtensions = []string{".json", ".geojson", ".topojson", ".ndjson", ".jsonl", ".geojsonl", ".geojsons"}
