// A wallet's side of Solana Pay: npm @solana/pay as published reads the code and fetches the transaction, which is signed and sent.
import {
  createKeyPairFromBytes, createSolanaRpc, getAddressFromPublicKey, getBase64EncodedWireTransaction, signTransaction,
} from "@solana/kit";
import { fetchTransaction, parseURL } from "@solana/pay";

const { code, public_url, service, rpc_url, wallet } = JSON.parse(process.env.PHONE);
// Here the public address is the service itself, without TLS.
const asked = globalThis.fetch;
globalThis.fetch = (url, options) => asked(String(url).replace(public_url, service), options);

const keys = await createKeyPairFromBytes(Uint8Array.from(wallet));
const account = await getAddressFromPublicKey(keys.publicKey);
const { link } = parseURL(code);
const label = await (await fetch(link)).json();
const rpc = createSolanaRpc(rpc_url);
const transaction = await fetchTransaction(rpc, account, link);
const signed = await signTransaction([keys], transaction);
const options = { encoding: "base64", preflightCommitment: "processed" };
const sent = await rpc.sendTransaction(getBase64EncodedWireTransaction(signed), options).send();
console.log(JSON.stringify({ link, label, sent }));
