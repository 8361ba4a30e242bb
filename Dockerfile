# Builds situ into an image that holds nothing else:
#
#	docker build -t situ .
#	docker run --rm situ --help
#
# The version that "situ version" shows comes from .git, which is why that is
# part of the build's input.
FROM golang:1.26 AS build
WORKDIR /src

# Alone, so that a change of the code does not fetch the modules again.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
# timetzdata: schedules may name a time zone, and the final image has no files for them.
RUN CGO_ENABLED=0 go build -trimpath -tags timetzdata -ldflags "-s -w" -o /situ ./cmd/situ

FROM scratch
LABEL org.opencontainers.image.title="situ" \
      org.opencontainers.image.description="GitOps that updates running pods in place" \
      org.opencontainers.image.documentation="README.md"

# To verify Git servers and API servers over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /situ /situ

# Not root, and by number, so that Kubernetes can check runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/situ"]
