package functions

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins user code that is called in plain text though its authority is set, or that is trusted with any certificate.
func TestUserCodeOverTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/evaluator/") {
			_, _ = w.Write([]byte(`{"result":{"match_id":"0"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"result":{"proposal":{"match_id":"0"}}}`))
	}))
	t.Cleanup(web.Close)
	signer := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	require.NoError(t, os.WriteFile(signer, text, 0o600))
	register := func(s *grpc.Server) {
		pb.RegisterMatchFunctionServer(s, functionstest.MMF{Function: functionstest.ProposingCount(1)})
		pb.RegisterEvaluatorServer(s, functionstest.GRPCJudge{Judge: func(_ func() (*pb.Match, error),
			accept func(string) error) error {
			return accept("0")
		}})
	}
	overTLS, _ := functionstest.Serve(t, functionstest.Listen(t, "127.0.0.1:0"), register,
		grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	overHTTPS := functionstest.ConfigOf(web.Listener.Addr())
	overHTTPS.Type = pb.FunctionConfig_REST
	plain := functionstest.ServeMMF(t, functionstest.ProposingCount(1))

	believing := functionsOf(t, Options{FunctionCA: signer, Loopback: true})
	for _, at := range []*pb.FunctionConfig{overTLS, overHTTPS} {
		ids, err := runs(t.Context(), believing, at)
		require.NoError(t, err)
		require.Equal(t, []string{"0"}, ids)
		_, err = runs(t.Context(), makeFunctions(t), at)
		require.Error(t, err, "in plain text")
	}
	_, err := runs(t.Context(), believing, plain)
	require.Error(t, err)

	for scheme, config := range map[string]*pb.FunctionConfig{"grpcs://": overTLS, "https://": overHTTPS} {
		at, err := addressOf(config)
		require.NoError(t, err)
		target := scheme + at.String()
		require.NoError(t, evaluates(t, functionsOf(t, Options{FunctionCA: signer, Loopback: true}), target), target)
		require.ErrorContains(t, evaluates(t, makeFunctions(t), target), "certificate",
			"which the system does not trust")
	}
	_, err = newFunctions(Options{FunctionCA: signer + ".not"})
	require.ErrorContains(t, err, "the authority of match functions' certificates")
	require.NoError(t, os.WriteFile(signer, []byte("nothing"), 0o600))
	_, err = newFunctions(Options{FunctionCA: signer, Loopback: true})
	require.ErrorContains(t, err, "no certificate in "+signer)
}

// evaluates calls an evaluator without proposals.
func evaluates(t *testing.T, f *functions, target string) error {
	e := must.Get(f.newEvaluator(target))(t)
	in := make(chan cycle.Proposal)
	close(in)
	return e.Evaluate(t.Context(), in, func(string) error { return nil })
}
