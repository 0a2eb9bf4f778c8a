// A client that pays by x402: npm @x402/fetch as published. Prints its result and the receipt.
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { x402Client } from "@x402/core/client";
import { decodePaymentResponseHeader, wrapFetchWithPayment } from "@x402/fetch";
import { toClientSvmSigner } from "@x402/svm";
import { ExactSvmScheme } from "@x402/svm/exact/client";

const { rpc_url, wallet, url } = JSON.parse(process.env.BUYER);
const signer = toClientSvmSigner(await createKeyPairSignerFromBytes(Uint8Array.from(wallet)));
const client = new x402Client().register("solana:*", new ExactSvmScheme(signer, { rpcUrl: rpc_url }));
// The client does not know the test network's USDC as an asset.
client.setSpendControls(false);
const answer = await wrapFetchWithPayment(fetch, client)(url);
const receipt = answer.headers.get("PAYMENT-RESPONSE");
console.log(
  JSON.stringify({
    status: answer.status,
    body: await answer.json(),
    receipt: receipt === null ? null : decodePaymentResponseHeader(receipt),
  }),
);
