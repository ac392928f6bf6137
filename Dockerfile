# Two images from one build:
#   docker build --target director -t lattice-director .    the control plane
#   docker build --target arena    -t lattice-arena .       the example game server and its bots
# Each is a static binary on a base image with CA certificates, time zones and an unprivileged user (65532), and without a shell.

FROM golang:1.26-bookworm AS build
WORKDIR /src
ENV CGO_ENABLED=0
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN go build -trimpath -tags nomsgpack,grpcnotrace -ldflags "-s -w -X main.version=${VERSION}" -o /out/director ./cmd/director \
 && go build -trimpath -ldflags "-s -w" -o /out/arena ./examples/arena

FROM gcr.io/distroless/static-debian12:nonroot AS arena
COPY --from=build /out/arena /arena
ENTRYPOINT ["/arena"]

# The last stage, because a build without --target builds the last one.
# There is no HEALTHCHECK, because the image has no shell to run it with. Check /readyz (ready for calls) and /healthz (alive)
# from outside, as Kubernetes probes and the balancer of compose.yaml do.
FROM gcr.io/distroless/static-debian12:nonroot AS director
COPY --from=build /out/director /director
# By default the program listens on loopback, which cannot be reached from outside a container.
ENV DIRECTOR_ADDR=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/director"]
CMD ["serve"]
