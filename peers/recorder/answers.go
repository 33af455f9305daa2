package main

import (
	"fmt"
	"strings"
)

const envelope = `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"` +
	` xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>%s</soapenv:Body></soapenv:Envelope>`

// spaces are the namespaces of the services, by the first part of their paths.
// There is no lookup service: clients then use the usual paths.
var spaces = map[string]string{
	"sdk": "urn:vim25", "pbm": "urn:pbm", "vsanHealth": "urn:vsan", "sso-adminserver": "urn:sso", "sts": "",
}

const content = `<rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">propertyCollector</propertyCollector>` +
	`<viewManager type="ViewManager">ViewManager</viewManager><about><name>VMware vCenter Server</name><fullName>recorder</fullName><vendor>VMware, Inc.</vendor>` +
	`<version>8.0.3</version><build>1</build><osType>linux-x64</osType><productLineId>vpx</productLineId><apiType>VirtualCenter</apiType><apiVersion>8.0.3.0</apiVersion>` +
	`<instanceUuid>u</instanceUuid></about><setting type="OptionManager">VpxSettings</setting><sessionManager type="SessionManager">SessionManager</sessionManager>` +
	`<authorizationManager type="AuthorizationManager">AuthorizationManager</authorizationManager><ovfManager type="OvfManager">OvfManager</ovfManager>`

const userSession = `<key>k</key><userName>u</userName><fullName>f</fullName><loginTime>2026-01-01T00:00:00Z</loginTime>` +
	`<lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale><messageLocale>en</messageLocale>`

// The one machine: a controller, a network card and a disk.
const machine = `<obj type="VirtualMachine">vm-1</obj><propSet><name>config.hardware.device</name><val xsi:type="ArrayOfVirtualDevice">` +
	`<VirtualDevice xsi:type="ParaVirtualSCSIController"><key>1000</key><deviceInfo xsi:type="Description"><label>SCSI controller 0</label><summary>VMware paravirtual SCSI</summary></deviceInfo>` +
	`<controllerKey>100</controllerKey><unitNumber>3</unitNumber><busNumber>0</busNumber><device>2000</device><hotAddRemove>true</hotAddRemove><sharedBus>noSharing</sharedBus><scsiCtlrUnitNumber>7</scsiCtlrUnitNumber></VirtualDevice>` +
	`<VirtualDevice xsi:type="VirtualVmxnet3"><key>4000</key><deviceInfo xsi:type="Description"><label>Network adapter 1</label><summary>a &amp; b</summary></deviceInfo>` +
	`<backing xsi:type="VirtualEthernetCardNetworkBackingInfo"><deviceName>a &amp; b</deviceName><useAutoDetect>false</useAutoDetect><network type="Network">network-1</network></backing>` +
	`<connectable><startConnected>true</startConnected><allowGuestControl>true</allowGuestControl><connected>false</connected></connectable>` +
	`<controllerKey>100</controllerKey><unitNumber>7</unitNumber><addressType>assigned</addressType><macAddress>00:50:56:00:00:01</macAddress><wakeOnLanEnabled>true</wakeOnLanEnabled></VirtualDevice>` +
	`<VirtualDevice xsi:type="VirtualDisk"><key>2000</key><deviceInfo xsi:type="Description"><label>Hard disk 1</label><summary>16,777,216 KB</summary></deviceInfo>` +
	`<backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[fast] rhcos/rhcos.vmdk</fileName><datastore type="Datastore">datastore-11</datastore><diskMode>persistent</diskMode>` +
	`<split>false</split><writeThrough>false</writeThrough><thinProvisioned>true</thinProvisioned><uuid>6000C298</uuid><sharing>sharingNone</sharing></backing>` +
	`<controllerKey>1000</controllerKey><unitNumber>0</unitNumber><capacityInKB>16777216</capacityInKB><capacityInBytes>17179869184</capacityInBytes>` +
	`<shares><shares>1000</shares><level>normal</level></shares><nativeUnmanagedLinkedClone>false</nativeUnmanagedLinkedClone></VirtualDevice></val></propSet>` +
	`<propSet><name>config.files.vmPathName</name><val xsi:type="xsd:string">[fast] rhcos/rhcos.vmtx</val></propSet>` +
	`<propSet><name>config.instanceUuid</name><val xsi:type="xsd:string">5012</val></propSet>`

const importSpec = `<importSpec xsi:type="VirtualMachineImportSpec"><configSpec><name>template</name><version>vmx-15</version><guestId>rhel9_64Guest</guestId>` +
	`<files><vmPathName>[fast]</vmPathName></files><numCPUs>2</numCPUs><memoryMB>4096</memoryMB><deviceChange xsi:type="VirtualDeviceConfigSpec"><operation>add</operation><fileOperation>create</fileOperation>` +
	`<device xsi:type="VirtualDisk"><key>-1</key><backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName></fileName><diskMode>persistent</diskMode><thinProvisioned>true</thinProvisioned></backing>` +
	`<controllerKey>-2</controllerKey><unitNumber>0</unitNumber><capacityInKB>16777216</capacityInKB></device></deviceChange>` +
	`<extraConfig xsi:type="OptionValue"><key>a</key><value xsi:type="xsd:string">1 &lt; 2</value></extraConfig>` +
	`<vAppConfig xsi:type="VmConfigSpec"><product><operation>add</operation><info><key>0</key><name>os</name></info></product></vAppConfig></configSpec>` +
	`<resPoolEntity type="ResourcePool">resgroup-8</resPoolEntity></importSpec>` +
	`<fileItem><deviceId>/template/VirtualLsiLogicController0:0</deviceId><path>disk.vmdk</path><size>4</size><cimType>17</cimType><create>false</create></fileItem>`

// The lease of an import. Files go to the host that the asterisk stands for.
const lease = `<version>1</version><filterSet><filter type="PropertyFilter">f</filter><objectSet><kind>enter</kind><obj type="HttpNfcLease">lease-1</obj>` +
	`<changeSet><name>state</name><op>assign</op><val xsi:type="HttpNfcLeaseState">ready</val></changeSet><changeSet><name>info</name><op>assign</op>` +
	`<val xsi:type="HttpNfcLeaseInfo"><lease type="HttpNfcLease">lease-1</lease><entity type="VirtualMachine">vm-7</entity><deviceUrl><key>k</key>` +
	`<importKey>/template/VirtualLsiLogicController0:0</importKey><url>https://*:%s/nfc/disk.vmdk</url><sslThumbprint>%s</sslThumbprint></deviceUrl>` +
	`<totalDiskCapacityInKB>1</totalDiskCapacityInKB><leaseTimeout>300</leaseTimeout></val></changeSet></objectSet></filterSet>`

const assertion = `<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" ID="_a" Version="2.0"><saml2:Subject>u</saml2:Subject></saml2:Assertion>`

func service(kind, field, id string) string {
	return fmt.Sprintf(`<%s type="%s">%s</%s>`, field, kind, id, field)
}

// answer is the content of a response's body.
func answer(method, space, body, lease string) string {
	inner := ""
	switch {
	case method == "RequestSecurityToken":
		return `<ns:RequestSecurityTokenResponseCollection xmlns:ns="http://docs.oasis-open.org/ws-sx/ws-trust/200512"><ns:RequestSecurityTokenResponse>` +
			`<ns:RequestedSecurityToken>` + assertion + `</ns:RequestedSecurityToken></ns:RequestSecurityTokenResponse></ns:RequestSecurityTokenResponseCollection>`
	case method == "RetrieveServiceContent":
		inner = content
	case strings.HasPrefix(method, "Login") && space == "urn:vim25":
		inner = userSession
	case method == "QueryOptions" && strings.Contains(body, "sso.sts"):
		inner = `<key>k</key><value xsi:type="xsd:string">https://vc/sts/STSService</value>`
	case method == "QueryOptions":
		inner = `<key>k</key><value xsi:type="xsd:string">https://vc/sso-adminserver/sdk</value>`
	case method == "RetrieveProperties":
		inner = machine
	case method == "RetrievePropertiesEx":
		inner = "<objects>" + machine + "</objects>"
	case method == "CreateImportSpec":
		inner = importSpec
	case method == "WaitForUpdatesEx":
		inner = lease
	case method == "CreatePropertyCollector":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval type="PropertyCollector">session[1]</returnval></%[1]sResponse>`, method, space)
	case method == "SsoAdminServiceInstance":
		for _, s := range []string{
			"SsoSessionManager sessionManager", "SsoAdminConfigurationManagementService configurationManagementService",
			"SsoAdminSmtpManagementService smtpManagementService", "SsoAdminPrincipalDiscoveryService principalDiscoveryService",
			"SsoAdminPrincipalManagementService principalManagementService", "SsoAdminRoleManagementService roleManagementService",
			"SsoAdminPasswordPolicyService passwordPolicyService", "SsoAdminLockoutPolicyService lockoutPolicyService",
			"SsoAdminDomainManagementService domainManagementService",
		} {
			kind, id, _ := strings.Cut(s, " ")
			inner += service(kind, id, id)
		}
	case method == "SsoGroupcheckServiceInstance":
		inner = service("SsoSessionManager", "sessionManager", "sessionManager") +
			service("SsoGroupcheckGroupCheckService", "groupCheckService", "groupCheckService")
	case method == "PbmRetrieveServiceContent":
		inner = `<aboutInfo><name>PBM</name><version>2.0</version><instanceUuid>u</instanceUuid></aboutInfo>`
		for _, s := range []string{
			"PbmSessionManager sessionManager", "PbmCapabilityMetadataManager capabilityMetadataManager",
			"PbmProfileProfileManager profileManager", "PbmComplianceManager complianceManager", "PbmPlacementSolver placementSolver",
		} {
			kind, id, _ := strings.Cut(s, " ")
			inner += service(kind, id, id)
		}
	case method == "PbmQueryProfile":
		inner = `<uniqueId>policy-1</uniqueId>`
	case method == "PbmRetrieveContent":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval xsi:type="PbmCapabilityProfile"><profileId><uniqueId>policy-1</uniqueId></profileId><name>gold</name>`+
			`<creationTime>2026-01-01T00:00:00Z</creationTime><createdBy>u</createdBy><lastUpdatedTime>2026-01-01T00:00:00Z</lastUpdatedTime><lastUpdatedBy>u</lastUpdatedBy>`+
			`<profileCategory>REQUIREMENT</profileCategory><resourceType><resourceType>STORAGE</resourceType></resourceType>`+
			`<constraints xsi:type="PbmCapabilitySubProfileConstraints"></constraints><isDefault>false</isDefault></returnval></%[1]sResponse>`, method, space)
	case method == "CnsQueryVolume" && strings.Contains(body, "<offset>0</offset>"):
		// Three volumes, two of them on the first page, whatever was asked for.
		inner = volume("1") + volume("2") + `<cursor><offset>2</offset><limit>2</limit><totalRecords>3</totalRecords></cursor>`
	case method == "CnsQueryVolume":
		inner = volume("3") + `<cursor><offset>3</offset><limit>2</limit><totalRecords>3</totalRecords></cursor>`
	case method == "ImportVApp":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval type="HttpNfcLease">lease-1</returnval></%[1]sResponse>`, method, space)
	case method == "CreateFolder":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval type="Folder">group-v9</returnval></%[1]sResponse>`, method, space)
	case method == "AddAuthorizationRole":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval>7</returnval></%[1]sResponse>`, method, space)
	case strings.HasSuffix(method, "_Task"), method == "CnsDeleteVolume":
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval type="Task">task-1</returnval></%[1]sResponse>`, method, space)
	default:
		return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"></%[1]sResponse>`, method, space)
	}
	return fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><returnval>%[3]s</returnval></%[1]sResponse>`, method, space, inner)
}

func volume(id string) string {
	return `<volumes><volumeId><id>` + id + `</id></volumeId><name>pvc-` + id + `</name><volumeType>BLOCK</volumeType></volumes>`
}
