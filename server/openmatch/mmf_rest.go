package openmatch

import (
	"bytes"
	"context"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// Open Match tells user code everything in lowerCamelCase, and reads what it knows.
var (
	toUserCode   = protojson.MarshalOptions{UseProtoNames: false}
	fromUserCode = protojson.UnmarshalOptions{DiscardUnknown: true}
)

// runREST calls a match function over HTTP. It may take as long as the context lasts.
func (f *functions) runREST(ctx context.Context, at address, profile *pb.MatchProfile, propose func(*pb.Match) error) (answered bool, err error) {
	body, err := toUserCode.Marshal(&pb.RunRequest{Profile: profile})
	if err != nil {
		return true, status.Errorf(codes.InvalidArgument, "the profile cannot be told in JSON: %v", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, at.url(f.http.scheme, "/v1/matchfunction:run").String(), bytes.NewReader(body))
	if err != nil {
		return true, status.Error(codes.Internal, err.Error())
	}
	// Not sent, it tells net/http that a function which hung up on an idle connection may be asked again.
	request.Header["Idempotency-Key"] = nil
	return f.http.results(request, func(result []byte) error {
		var answer pb.RunResponse
		if err := fromUserCode.Unmarshal(result, &answer); err != nil {
			return status.Errorf(codes.Internal, "the match function's answer cannot be read: %v", err)
		}
		return propose(answer.GetProposal())
	})
}
