export default function MemoryPage() {
  return <section className="page" />;
}
