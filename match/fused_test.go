package match_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactPackages have the same results on every architecture; of simulate, where package math of Go has.
var exactPackages = []string{".", "./decide", "./estimate", "./optimum", "./profile", "./replay", "./simulate"}

// fusedInstruction is an instruction of arm64 that multiplies and adds with one rounding, and where it is.
var fusedInstruction = regexp.MustCompile(`\(([^()]+\.go:\d+)\)\s+FN?M(ADD|SUB)[SD]\b`)

// Pins sums of products that are rounded once on arm64 and twice on amd64, so that replicas on both disagree about a
// match and a replay about its report. A product that is converted, float64(x*y) + z, is always rounded by itself.
func TestProductsAreRoundedEverywhere(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-gcflags=-S"}, exactPackages...)...)
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	assembly, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var fused []string
	functionCount := 0
	// Lines of data can be long.
	for lines := bufio.NewReader(assembly); ; {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, "\tTEXT\t") {
			functionCount++
		}
		if m := fusedInstruction.FindStringSubmatch(line); m != nil {
			fused = append(fused, m[1])
		}
		if err != nil {
			break
		}
	}
	require.NoError(t, cmd.Wait())
	require.Greater(t, functionCount, 1000, "the compiler printed no assembly")
	slices.Sort(fused)
	require.Empty(t, slices.Compact(fused), "convert these products: float64(x*y)")
}
