package version

import (
	"runtime/debug"
	"testing"
)

func TestOf(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, tc := range []struct{ module, revision, modified, want string }{
		{"", "", "", "devel"},
		{"(devel)", "", "", "devel"},
		{"(devel)", commit, "false", "devel+0123456789ab"},
		{"(devel)", commit, "true", "devel+0123456789ab-dirty"},
		{"(devel)", "abc", "", "devel+abc"},
		{"v0.0.0-20261122044653-0123456789ab", commit, "false", "devel+0123456789ab"},
		{"v0.0.0-20261122044653-0123456789ab+dirty", commit, "true", "devel+0123456789ab-dirty"},
		{"v1.2.4-0.20261122044653-0123456789ab", "", "", "devel+0123456789ab"},
		{"v1.2.4-rc.1.0.20261122044653-0123456789ab", "", "", "devel+0123456789ab"},
		{"v1.2.3", "", "", "v1.2.3"},
		{"v1.2.3", commit, "false", "v1.2.3+0123456789ab"},
		{"v1.2.3+dirty", commit, "true", "v1.2.3+0123456789ab-dirty"},
		{"v1.2.3-rc.1", commit, "false", "v1.2.3-rc.1+0123456789ab"},
		{"(devel)", "", "true", "devel"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tc.module}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: tc.revision}, {Key: "vcs.modified", Value: tc.modified},
		}}
		if got := of(info); got != tc.want {
			t.Errorf("%q at %q, modified %q: %q, want %q", tc.module, tc.revision, tc.modified, got, tc.want)
		}
	}
	if String() == "" {
		t.Error("the test has no version")
	}
}
