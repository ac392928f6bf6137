package functions

import (
	"bytes"
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Open Match sends JSON with lowerCamelCase names to user code, and ignores unknown fields of answers.
var (
	toUserCode   = protojson.MarshalOptions{UseProtoNames: false}
	fromUserCode = protojson.UnmarshalOptions{DiscardUnknown: true}
)

// runREST calls a match function over HTTP, without a timeout but the context's.
func (f *functions) runREST(ctx context.Context, at address, profile *pb.MatchProfile,
	propose func(*pb.Match) error) (answered bool, err error) {
	body, err := toUserCode.Marshal(&pb.RunRequest{Profile: profile})
	if err != nil {
		return true, status.Errorf(codes.InvalidArgument, "the profile cannot be encoded as JSON: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		at.urlOf(f.functionHTTP.urlScheme, "/v1/matchfunction:run").String(), bytes.NewReader(body))
	if err != nil {
		return true, status.Error(codes.Internal, err.Error())
	}
	// A nil header is not sent, but lets net/http retry when the function has closed an idle connection.
	request.Header["Idempotency-Key"] = nil
	return f.functionHTTP.readResults(request, func(result []byte) error {
		var answer pb.RunResponse
		if err := fromUserCode.Unmarshal(result, &answer); err != nil {
			return status.Errorf(codes.Internal, "the match function's answer cannot be read: %v", err)
		}
		return propose(answer.GetProposal())
	})
}
