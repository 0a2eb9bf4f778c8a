// An x402 shop and its facilitator: npm @x402/core and @x402/svm as published.
// Prints the facilitator's address and the port as one line of JSON, then a line for each paid request.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { x402Facilitator } from "@x402/core/facilitator";
import { x402HTTPResourceServer, x402ResourceServer } from "@x402/core/server";
import { toFacilitatorSvmSigner } from "@x402/svm";
import { ExactSvmScheme as FacilitatorScheme } from "@x402/svm/exact/facilitator";
import { ExactSvmScheme as ServerScheme } from "@x402/svm/exact/server";

// The name is Solana's devnet; the node's address decides which network it really is.
const network = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const { rpc_url, usdc_mint, pay_to, amount, memo, program } = JSON.parse(process.env.SHOP);

// The facilitator's key is new, and the network gives it a SOL for fees.
const { d, x } = generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" });
const keys = await createKeyPairSignerFromBytes(Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")]));
const rpc = async (method, params) => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const answer = await fetch(rpc_url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return (await answer.json()).result;
};
await rpc("requestAirdrop", [keys.address, 1_000_000_000]);
while (!(await rpc("getBalance", [keys.address, { commitment: "confirmed" }])).value) await new Promise((done) => setTimeout(done, 100));

const signer = toFacilitatorSvmSigner(keys, { defaultRpcUrl: rpc_url });
const smartWallets = { enableSmartWalletVerification: true, smartWalletAllowedPrograms: [program] };
const scheme = new FacilitatorScheme(signer, undefined, program === undefined ? {} : smartWallets);
const facilitator = new x402Facilitator().register(network, scheme);
const local = {
  verify: (payload, requirements) => facilitator.verify(payload, requirements),
  settle: (payload, requirements) => facilitator.settle(payload, requirements),
  getSupported: async () => facilitator.getSupported(),
};
const resources = new x402ResourceServer(local).register(network, new ServerScheme());
const price = { amount, asset: usdc_mint, extra: memo == null ? {} : { memo } };
const accepts = { scheme: "exact", network, payTo: pay_to, price, maxTimeoutSeconds: 60 };
const shop = new x402HTTPResourceServer(resources, { "/report": { accepts, description: "A report" } });
await shop.initialize();

const server = createServer(async (request, response) => {
  const answer = (status, headers, body) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
  const path = request.url.split("?")[0];
  const adapter = {
    getHeader: (name) => request.headers[name.toLowerCase()],
    getMethod: () => request.method,
    getPath: () => path,
    getUrl: () => `http://${request.headers.host}${request.url}`,
    getAcceptHeader: () => request.headers.accept ?? "",
    getUserAgent: () => request.headers["user-agent"] ?? "",
  };
  let sent = "";
  for await (const part of request) sent += part;
  const context = { adapter, path, method: request.method };
  const asked = await shop.processHTTPRequest(context);
  if (asked.type !== "payment-verified") {
    return answer(asked.response.status, asked.response.headers, asked.response.body);
  }
  const { paymentPayload, paymentRequirements, declaredExtensions } = asked;
  const settled = await shop.processSettlement(paymentPayload, paymentRequirements, declaredExtensions, { request: context });
  if (!settled.success) {
    return answer(settled.response.status, settled.response.headers, settled.response.body);
  }
  answer(200, { "Content-Type": "application/json", ...settled.headers }, { report: "42", sent });
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ port: server.address().port, fee_payer: keys.address }));
});
