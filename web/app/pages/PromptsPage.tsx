export default function PromptsPage() {
  return <section className="page" />;
}
