// A device plugin in Go, on grpc-go and the published interface (deviceplugin/v1beta1): the peer that device
// plugins in the field are. main FOLDER RESOURCE DEVICES LOG; it does what ../plugin-main.ts does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

type Empty struct{}

func (m *Empty) Reset()         { *m = Empty{} }
func (m *Empty) String() string { return "" }
func (m *Empty) ProtoMessage()  {}

type DevicePluginOptions struct {
	PreStartRequired                bool `protobuf:"varint,1,opt,name=pre_start_required,proto3"`
	GetPreferredAllocationAvailable bool `protobuf:"varint,2,opt,name=get_preferred_allocation_available,proto3"`
}

func (m *DevicePluginOptions) Reset()         { *m = DevicePluginOptions{} }
func (m *DevicePluginOptions) String() string { return fmt.Sprintf("%+v", *m) }
func (m *DevicePluginOptions) ProtoMessage()  {}

type RegisterRequest struct {
	Version      string `protobuf:"bytes,1,opt,name=version,proto3"`
	Endpoint     string `protobuf:"bytes,2,opt,name=endpoint,proto3"`
	ResourceName string `protobuf:"bytes,3,opt,name=resource_name,proto3"`
}

func (m *RegisterRequest) Reset()         { *m = RegisterRequest{} }
func (m *RegisterRequest) String() string { return fmt.Sprintf("%+v", *m) }
func (m *RegisterRequest) ProtoMessage()  {}

type Device struct {
	ID     string `protobuf:"bytes,1,opt,name=ID,proto3"`
	Health string `protobuf:"bytes,2,opt,name=health,proto3"`
}

func (m *Device) Reset()         { *m = Device{} }
func (m *Device) String() string { return fmt.Sprintf("%+v", *m) }
func (m *Device) ProtoMessage()  {}

type ListAndWatchResponse struct {
	Devices []*Device `protobuf:"bytes,1,rep,name=devices,proto3"`
}

func (m *ListAndWatchResponse) Reset()         { *m = ListAndWatchResponse{} }
func (m *ListAndWatchResponse) String() string { return fmt.Sprintf("%+v", *m) }
func (m *ListAndWatchResponse) ProtoMessage()  {}

type ContainerAllocateRequest struct {
	DevicesIDs []string `protobuf:"bytes,1,rep,name=devices_ids,proto3"`
}

func (m *ContainerAllocateRequest) Reset()         { *m = ContainerAllocateRequest{} }
func (m *ContainerAllocateRequest) String() string { return fmt.Sprintf("%+v", *m) }
func (m *ContainerAllocateRequest) ProtoMessage()  {}

type AllocateRequest struct {
	ContainerRequests []*ContainerAllocateRequest `protobuf:"bytes,1,rep,name=container_requests,proto3"`
}

func (m *AllocateRequest) Reset()         { *m = AllocateRequest{} }
func (m *AllocateRequest) String() string { return fmt.Sprintf("%+v", *m) }
func (m *AllocateRequest) ProtoMessage()  {}

type Mount struct {
	ContainerPath string `protobuf:"bytes,1,opt,name=container_path,proto3"`
	HostPath      string `protobuf:"bytes,2,opt,name=host_path,proto3"`
	ReadOnly      bool   `protobuf:"varint,3,opt,name=read_only,proto3"`
}

func (m *Mount) Reset()         { *m = Mount{} }
func (m *Mount) String() string { return fmt.Sprintf("%+v", *m) }
func (m *Mount) ProtoMessage()  {}

type DeviceSpec struct {
	ContainerPath string `protobuf:"bytes,1,opt,name=container_path,proto3"`
	HostPath      string `protobuf:"bytes,2,opt,name=host_path,proto3"`
	Permissions   string `protobuf:"bytes,3,opt,name=permissions,proto3"`
}

func (m *DeviceSpec) Reset()         { *m = DeviceSpec{} }
func (m *DeviceSpec) String() string { return fmt.Sprintf("%+v", *m) }
func (m *DeviceSpec) ProtoMessage()  {}

type ContainerAllocateResponse struct {
	Envs        map[string]string `protobuf:"bytes,1,rep,name=envs,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
	Mounts      []*Mount          `protobuf:"bytes,2,rep,name=mounts,proto3"`
	Devices     []*DeviceSpec     `protobuf:"bytes,3,rep,name=devices,proto3"`
	Annotations map[string]string `protobuf:"bytes,4,rep,name=annotations,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
}

func (m *ContainerAllocateResponse) Reset()         { *m = ContainerAllocateResponse{} }
func (m *ContainerAllocateResponse) String() string { return fmt.Sprintf("%+v", *m) }
func (m *ContainerAllocateResponse) ProtoMessage()  {}

type AllocateResponse struct {
	ContainerResponses []*ContainerAllocateResponse `protobuf:"bytes,1,rep,name=container_responses,proto3"`
}

func (m *AllocateResponse) Reset()         { *m = AllocateResponse{} }
func (m *AllocateResponse) String() string { return fmt.Sprintf("%+v", *m) }
func (m *AllocateResponse) ProtoMessage()  {}

type PreStartContainerRequest struct {
	DevicesIDs []string `protobuf:"bytes,1,rep,name=devices_ids,proto3"`
}

func (m *PreStartContainerRequest) Reset()         { *m = PreStartContainerRequest{} }
func (m *PreStartContainerRequest) String() string { return fmt.Sprintf("%+v", *m) }
func (m *PreStartContainerRequest) ProtoMessage()  {}

type plugin struct {
	ids []string
	log string
}

func (p *plugin) say(line map[string]interface{}) {
	text, _ := json.Marshal(line)
	file, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprintf(file, "%s\n", text)
}

func (p *plugin) allocate(request *AllocateRequest) *AllocateResponse {
	response := &AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := append([]string{}, container.DevicesIDs...)
		sort.Strings(ids)
		p.say(map[string]interface{}{"call": "allocate", "ids": ids})
		all := strings.Join(ids, ",")
		answer := &ContainerAllocateResponse{
			Envs:        map[string]string{"DEVICES": all},
			Annotations: map[string]string{"nodelet.test/devices": all},
		}
		for _, id := range ids {
			answer.Mounts = append(answer.Mounts, &Mount{ContainerPath: "/devices/" + id, HostPath: "/run/devices/" + id, ReadOnly: true})
			answer.Devices = append(answer.Devices, &DeviceSpec{ContainerPath: "/dev/" + id, HostPath: "/dev/null", Permissions: "rw"})
		}
		response.ContainerResponses = append(response.ContainerResponses, answer)
	}
	return response
}

// Services are written down as protoc would.
type server interface{}

func unary(name string, decode func() interface{}, run func(*plugin, interface{}) interface{}) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(srv interface{}, ctx context.Context, dec func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
		request := decode()
		if err := dec(request); err != nil {
			return nil, err
		}
		return run(srv.(*plugin), request), nil
	}}
}

var service = grpc.ServiceDesc{
	ServiceName: "v1beta1.DevicePlugin",
	HandlerType: (*server)(nil),
	Methods: []grpc.MethodDesc{
		unary("GetDevicePluginOptions", func() interface{} { return &Empty{} }, func(*plugin, interface{}) interface{} {
			return &DevicePluginOptions{PreStartRequired: true}
		}),
		unary("Allocate", func() interface{} { return &AllocateRequest{} }, func(p *plugin, request interface{}) interface{} {
			return p.allocate(request.(*AllocateRequest))
		}),
		unary("PreStartContainer", func() interface{} { return &PreStartContainerRequest{} }, func(p *plugin, request interface{}) interface{} {
			p.say(map[string]interface{}{"call": "preStart", "ids": request.(*PreStartContainerRequest).DevicesIDs})
			return &Empty{}
		}),
	},
	Streams: []grpc.StreamDesc{{StreamName: "ListAndWatch", ServerStreams: true, Handler: func(srv interface{}, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&Empty{}); err != nil {
			return err
		}
		list := &ListAndWatchResponse{}
		for _, id := range srv.(*plugin).ids {
			list.Devices = append(list.Devices, &Device{ID: id, Health: "Healthy"})
		}
		if err := stream.SendMsg(list); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}}},
}

// As the kubelet's own helper for plugins dials: a path and a dialer, so that the path becomes the authority.
func register(folder, endpoint, resource string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	connection, err := grpc.DialContext(ctx, filepath.Join(folder, "kubelet.sock"), grpc.WithInsecure(), grpc.WithBlock(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}))
	if err != nil {
		return err
	}
	defer connection.Close()
	request := &RegisterRequest{Version: "v1beta1", Endpoint: endpoint, ResourceName: resource}
	return connection.Invoke(ctx, "/v1beta1.Registration/Register", request, &Empty{})
}

// Another socket is another agent.
func agentSocket(folder string) string {
	var facts syscall.Stat_t
	if syscall.Stat(filepath.Join(folder, "kubelet.sock"), &facts) != nil {
		return ""
	}
	return fmt.Sprint(facts.Ino, facts.Ctim.Sec, facts.Ctim.Nsec)
}

func main() {
	folder, resource := os.Args[1], os.Args[2]
	amount, _ := strconv.Atoi(os.Args[3])
	p := &plugin{log: os.Args[4]}
	for i := 0; i < amount; i++ {
		id := fmt.Sprintf("dev%d", i)
		p.ids = append(p.ids, id)
		os.MkdirAll("/run/devices/"+id, 0o755)
		os.WriteFile("/run/devices/"+id+"/name", []byte(id+"\n"), 0o644)
	}
	endpoint := strings.NewReplacer("/", "-", ".", "-").Replace(resource) + ".sock"
	for {
		socket := agentSocket(folder)
		if socket == "" {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		os.Remove(filepath.Join(folder, endpoint))
		listener, err := net.Listen("unix", filepath.Join(folder, endpoint))
		if err != nil {
			p.say(map[string]interface{}{"call": "refused", "error": err.Error()})
			time.Sleep(100 * time.Millisecond)
			continue
		}
		served := grpc.NewServer()
		served.RegisterService(&service, p)
		go served.Serve(listener)
		if err := register(folder, endpoint, resource); err != nil {
			p.say(map[string]interface{}{"call": "refused", "error": err.Error()})
			time.Sleep(100 * time.Millisecond)
		} else {
			p.say(map[string]interface{}{"call": "registered"})
			for agentSocket(folder) == socket {
				time.Sleep(100 * time.Millisecond)
			}
		}
		served.Stop()
	}
}
