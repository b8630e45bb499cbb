package clienttest

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/internal/programs"
)

// Third-party tools check the OpenAPI description. Clients that they generate from it query a
// running server. `make check-clients` installs them and runs this.

// describedSite serves the toy world. document is a file with its description.
func describedSite(t *testing.T) (site, document string) {
	t.Helper()
	data := t.TempDir()
	publishFeatures(t, data)
	site = programs.Serve(t, "--data", data).URL
	code, text := fetch(t, site+"/openapi.json")
	document = filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, []byte(text), 0o600); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v", code, err)
	}
	return site, document
}

// copyOf returns a new directory with the files of a folder of testdata/clients/openapi.
func copyOf(t *testing.T, folder string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "clients", "openapi", folder))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// need returns the path of a program, and skips the test if it is not installed.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed", program)
	}
	return path
}

// runIn runs a program in a directory. If the program fails, the test fails.
func runIn(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	runScript(t, cmd)
}

// npmProgram returns the path of a program of an npm package.
func npmProgram(t *testing.T, name, program string) string {
	t.Helper()
	nodeWith(t, name)
	return filepath.Join(clientsDir(t), "node_modules", ".bin", program)
}

// The description follows Redocly's recommended rules, except one.
func TestOpenAPIRedocly(t *testing.T) {
	redocly := npmProgram(t, "@redocly/cli", "redocly")
	t.Setenv("REDOCLY_TELEMETRY", "off")
	t.Setenv("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
	_, document := describedSite(t)
	runIn(t, ".", redocly, "lint", "--config", "testdata/clients/openapi/redocly.yaml", "--format", "stylish", document)
}

// TestOpenAPITypeScript tests a client in TypeScript. Its types cover paths, parameters and
// answers.
func TestOpenAPITypeScript(t *testing.T) {
	types := npmProgram(t, "openapi-typescript", "openapi-typescript")
	compiler := npmProgram(t, "typescript", "tsc")
	node := need(t, "node")
	site, document := describedSite(t)
	dir := copyOf(t, "typescript")
	if err := os.Symlink(filepath.Join(clientsDir(t), "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, types, document, "--output", "api.d.ts")
	runIn(t, dir, compiler, "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "client.mts")
	runIn(t, dir, node, "client.mjs", site)
}

// TestOpenAPIGo tests a client in Go from oapi-codegen. It is a separate module, so that our module
// does not need its imports.
func TestOpenAPIGo(t *testing.T) {
	foreign(t)
	generator := filepath.Join(clientsDir(t), "bin", "oapi-codegen")
	if _, err := os.Stat(generator); err != nil {
		t.Skip("oapi-codegen is not installed: run make check-clients")
	}
	compiler := need(t, "go")
	site, document := describedSite(t)
	dir := copyOf(t, "go")
	if err := os.Mkdir(filepath.Join(dir, "api"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off") // install-clients has fetched what it imports
	runIn(t, dir, generator, "-generate", "types,client", "-package", "api", "-o", "api/api.go", document)
	runIn(t, dir, compiler, "run", ".", site)
}

// TestOpenAPIJava tests a client in Java from OpenAPI Generator.
func TestOpenAPIJava(t *testing.T) {
	foreign(t)
	java, compiler := need(t, "java"), need(t, "javac")
	jars, err := filepath.Glob(filepath.Join(clientsDir(t), "openapi-java", "*.jar"))
	if err != nil {
		t.Fatal(err)
	}
	isGenerator := func(jar string) bool { return strings.HasPrefix(filepath.Base(jar), "openapi-generator-cli-") }
	i := slices.IndexFunc(jars, isGenerator)
	if i < 0 {
		t.Skip("OpenAPI Generator is not installed: run make check-clients, where Maven is at hand")
	}
	generator := jars[i]
	// the generator's jar has libraries of its own
	classes := strings.Join(append(slices.Delete(jars, i, i+1), "."), string(os.PathListSeparator))
	site, document := describedSite(t)
	dir := copyOf(t, "java")
	runIn(t, dir, java, "-Dlog.level=error", "-jar", generator, "generate", "-g", "java", "--library", "native", "-i", document, "-o", ".")
	made, err := filepath.Glob(filepath.Join(dir, "src/main/java/org/openapitools/client/*/*.java")) // operations and models, all of them
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, compiler, append(made, "-nowarn", "-d", ".", "-cp", classes, "-sourcepath", "src/main/java", "Client.java")...)
	runIn(t, dir, java, "-cp", classes, "Client", site)
}

// TestOpenAPISchemathesis runs Schemathesis, in Python. It sends requests that the description
// allows, and others. Every answer must match the description, and none may have a status 5xx.
func TestOpenAPISchemathesis(t *testing.T) {
	foreign(t)
	schemathesis := pythonWith(t, "schemathesis")
	site, _ := describedSite(t)
	schemathesis(t, "openapi/schemathesis_run.py", site)
}

// TestOpenAPIFastMCP runs FastMCP, in Python. It converts the operations to tools for assistants.
func TestOpenAPIFastMCP(t *testing.T) {
	foreign(t)
	fastmcp := pythonWith(t, "fastmcp")
	site, _ := describedSite(t)
	fastmcp(t, "openapi/fastmcp_tools.py", site)
}
