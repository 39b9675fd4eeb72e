package names

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
)

// CRISocket queries a container runtime (containerd, CRI-O) over the Kubernetes Container Runtime Interface.
//
// It is one unary gRPC call, which is an HTTP/2 request with a five-byte prefix; a gRPC library would be larger than
// the rest of the collector.
type CRISocket struct {
	Path string
	Proc string // where the kernel shows processes: /proc
}

// Name implements Directory.
func (c CRISocket) Name() string { return "container runtime at " + c.Path }

// List requests the containers, and the sandboxes of their pods, which have the labels and annotations: the runtime
// keeps those from when it created the pod, so a change shows with the pod's next start.
func (c CRISocket) List(ctx context.Context) ([]Container, error) {
	if !isSocket(c.Path) {
		return nil, ErrAbsent
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answer, err := c.call(ctx, "ListContainers")
	if err != nil {
		return nil, err
	}
	containers, err := parseContainers(answer)
	if err != nil {
		return nil, err
	}
	if answer, err = c.call(ctx, "ListPodSandbox"); err != nil {
		return nil, err
	}
	sandboxes, err := parseSandboxes(answer)
	said := make(map[string]Said)
	for _, one := range sandboxes {
		if one.Said != (Said{}) {
			said[one.PodUID] = one.Said
		}
	}
	for i := range containers {
		containers[i].Said = said[containers[i].PodUID]
	}
	return append(containers, sandboxes...), err
}

// call calls a method of runtime.v1.RuntimeService with an empty filter.
func (c CRISocket) call(ctx context.Context, method string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://runtime/runtime.v1.RuntimeService/"+method,
		bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	transport := overSocket(c.Path, c.Proc)
	transport.DisableKeepAlives = false // would add a "Connection" header, which HTTP/2 does not have
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if err != nil {
		return nil, err
	}
	status := response.Trailer.Get("Grpc-Status")
	if status == "" {
		status = response.Header.Get("Grpc-Status") // a response without a body has its trailers in the headers
	}
	if response.StatusCode != http.StatusOK || status != "0" {
		return nil, fmt.Errorf("%s answered %s, gRPC status %q %s", c.Name(), response.Status, status, response.Trailer.Get("Grpc-Message"))
	}
	if len(body) < 5 || body[0] != 0 || int(binary.BigEndian.Uint32(body[1:])) != len(body)-5 {
		return nil, fmt.Errorf("%s: malformed answer", c.Name())
	}
	return body[5:], nil
}

var errMalformed = errors.New("malformed CRI message")

// parseContainers reads ListContainersResponse of k8s.io/cri-api runtime/v1/api.proto.
func parseContainers(message []byte) ([]Container, error) {
	var containers []Container
	err := eachField(message, func(number protowire.Number, value []byte) error {
		if number != 1 {
			return nil
		}
		var c Container
		labels := make(map[string]string)
		err := eachField(value, func(number protowire.Number, value []byte) error {
			switch number {
			case 1:
				c.ID = string(value)
			case 3: // ContainerMetadata
				return eachField(value, func(number protowire.Number, value []byte) error {
					if number == 1 {
						c.Name = string(value)
					}
					return nil
				})
			case 4: // ImageSpec: image 1, user_specified_image 18 (as in the pod spec; image can be a digest)
				return eachField(value, func(number protowire.Number, value []byte) error {
					if number == 18 || number == 1 && c.Image == "" {
						c.Image = string(value)
					}
					return nil
				})
			case 8:
				return label(value, labels)
			}
			return nil
		})
		fromLabels(&c, labels)
		containers = append(containers, c)
		return err
	})
	return containers, err
}

// parseSandboxes reads ListPodSandboxResponse.
func parseSandboxes(message []byte) ([]Container, error) {
	var sandboxes []Container
	err := eachField(message, func(number protowire.Number, value []byte) error {
		if number != 1 {
			return nil
		}
		sandbox := Container{Sandbox: true}
		labels, annotations := make(map[string]string), make(map[string]string)
		err := eachField(value, func(number protowire.Number, value []byte) error {
			switch number {
			case 1:
				sandbox.ID = string(value)
			case 5:
				return label(value, labels)
			case 6:
				return label(value, annotations)
			}
			return nil
		})
		sandbox.PodUID, sandbox.Namespace, sandbox.Pod = labels["io.kubernetes.pod.uid"], labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.name"]
		sandbox.Said = saidBy(labels, annotations)
		sandboxes = append(sandboxes, sandbox)
		return err
	})
	return sandboxes, err
}

func label(entry []byte, labels map[string]string) error {
	var key, value string
	err := eachField(entry, func(number protowire.Number, field []byte) error {
		switch number {
		case 1:
			key = string(field)
		case 2:
			value = string(field)
		}
		return nil
	})
	labels[key] = value
	return err
}

// eachField visits the length-delimited fields of a message.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMalformed
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return errMalformed
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errMalformed
		}
		if err := visit(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
