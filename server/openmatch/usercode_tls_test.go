package openmatch

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
	"github.com/lattice-director/director/internal/cycle"
)

// secured serves user code over HTTP with a certificate for 127.0.0.1, and gives a file with who signed that.
func secured(t *testing.T, code http.Handler) (server *httptest.Server, signer string) {
	server = httptest.NewTLSServer(code)
	t.Cleanup(server.Close)
	signer = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(signer, text, 0o600))
	return server, signer
}

// Pins user code that is called in plain text though somebody said who signs its certificates, or that is believed with any.
func TestUserCodeOverTLS(t *testing.T) {
	t.Parallel()
	web, signer := secured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/evaluator/") {
			_, _ = w.Write([]byte(`{"result":{"match_id":"0"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"result":{"proposal":{"match_id":"0"}}}`))
	}))
	register := func(s *grpc.Server) {
		pb.RegisterMatchFunctionServer(s, mmf{run: Proposes(1)})
		pb.RegisterEvaluatorServer(s, grpcJudge{judge: func(_ func() (*pb.Match, error), accept func(string) error) error { return accept("0") }})
	}
	overTLS, _ := serve(t, listen(t, "127.0.0.1:0"), register, grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	overHTTPS := configOf(web.Listener.Addr())
	overHTTPS.Type = pb.FunctionConfig_REST
	plain := ServeMMF(t, Proposes(1))

	believing := functionsOf(t, Options{FunctionCA: signer})
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
		require.NoError(t, evaluates(t, functionsOf(t, Options{FunctionCA: signer}), target), target)
		require.ErrorContains(t, evaluates(t, makeFunctions(t), target), "certificate", "whom the system does not believe")
	}
	_, err = newFunctions(Options{FunctionCA: signer + ".not"})
	require.ErrorContains(t, err, "who signs match functions' certificates")
	require.NoError(t, os.WriteFile(signer, []byte("nothing"), 0o600))
	_, err = newFunctions(Options{FunctionCA: signer})
	require.ErrorContains(t, err, "no certificate in "+signer)
}

// evaluates shows an evaluator nothing.
func evaluates(t *testing.T, f *functions, target string) error {
	e, err := f.evaluator(target)
	require.NoError(t, err)
	in := make(chan cycle.Proposal)
	close(in)
	return e.Evaluate(t.Context(), in, func(string) error { return nil })
}
