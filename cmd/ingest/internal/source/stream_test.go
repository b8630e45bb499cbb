package source_test

import (
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// Addresses are refused with the line to type, if the command line has them. Files whose names look like one are files.
func TestRefuseAddress(t *testing.T) {
	for _, tc := range []struct{ path, command, want string }{
		{"https://a.org/b.csv?x=1&y=2", "ingest points shops 'https://a.org/b.csv?x=1&y=2'", "type: curl -fL 'https://a.org/b.csv?x=1&y=2' | ingest points shops '-'"},
		{"S3://a/b", "ingest ip S3://a/b", "type: aws s3 cp --quiet 'S3://a/b' - | ingest ip -"},
		{"gs://a/b", "ingest boundaries --layer x=gs://a/b:ID", "type: gcloud storage cat 'gs://a/b' | ingest boundaries --layer x=-:ID"},
		{"https://a.org/b", "ingest refresh", "fetch the file and name it"},
		{"file:///a/b", "ingest ip file:///a/b", "fetch the file and name it"},
		{"a.csv", "", ""}, {"C:/a.csv", "", ""}, {"dir/x://y", "", ""}, {"://x", "", ""}, {"x://", "", ""}, {"-", "", ""},
	} {
		err := source.RefuseAddress(tc.path, strings.Fields(tc.command))
		if (err == nil) != (tc.want == "") || err != nil && !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.path, err)
		}
	}
}

func TestIsStream(t *testing.T) {
	file := testfile.WriteTemp(t, "x", "x")
	for path, want := range map[string]bool{"-": true, file: false, filepath.Dir(file): false, filepath.Join(file, "none"): false} {
		if source.IsStream(path) != want || source.IsStdin(path) != (path == "-") {
			t.Errorf("%s: %v", path, !want)
		}
	}
	for name, want := range map[string][2]string{"-#sheet": {"-", "sheet"}, "-": {"-", ""}, file + "#a": {file, "a"}, "none#a": {"none#a", ""}} {
		if path, layer := source.SplitLayer(name); path != want[0] || layer != want[1] {
			t.Errorf("%s: %q %q", name, path, layer)
		}
	}
}
